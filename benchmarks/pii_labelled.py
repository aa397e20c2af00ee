"""A labelled set for personal data: items planted among things that look like them."""

from __future__ import annotations

import random
import string

TEXT = "please see the report that we sent last week about results of our second test run"
WORDS = TEXT.split()
FIRST = (
    "anna",
    "j.smith",
    "maria_lopez",
    "o'neil",
    "t-bone",
    "sales",
    "k.o+lists",
    "x99",
    "Li.Wei",
)
HOSTS = (
    "gmail.com",
    "uni-bonn.de",
    "cs.cam.ac.uk",
    "mail.ru",
    "acme-corp.co.jp",
    "foo.org",
    "bar.io",
)
NUMBER_NAMES = ("Tel: ", "phone ", "call ", "Fax ", "mobile: ")


def digits(rng: random.Random, num: int) -> str:
    return "".join(rng.choices(string.digits, k=num))


def american(rng: random.Random) -> tuple[str, str, str]:
    return (
        f"{rng.randint(2, 9)}{rng.randint(2, 9)}{rng.randint(2, 9)}",
        f"{rng.randint(2, 9)}{digits(rng, 2)}",
        digits(rng, 4),
    )


def email(rng: random.Random) -> tuple[str, str, str]:
    before, after = rng.choice((("", ""), ("<", ">"), ("mailto:", ""), ("(", ")"), ("", ".")))
    return before, f"{rng.choice(FIRST)}{rng.randint(1, 99)}@{rng.choice(HOSTS)}", after


def phone(rng: random.Random) -> tuple[str, str, str]:
    a, b, c = american(rng)
    kind = rng.randrange(10)
    forms = (
        *(f"{a}-{b}-{c}", f"({a}) {b}-{c}", f"{a}.{b}.{c}", f"+1 {a} {b} {c}", f"1-{a}-{b}-{c}"),
        f"+44 20 7{digits(rng, 3)} {digits(rng, 4)}",
        f"020 7{digits(rng, 3)} {digits(rng, 4)}",
        "0" + " ".join((str(rng.randint(1, 9)), *(digits(rng, 2) for _ in range(4)))),
        f"+49 {rng.randint(30, 89)} {digits(rng, 7)}",
        "",
    )
    if kind == 9:
        return rng.choice(NUMBER_NAMES), f"{b}-{c}", ""
    return "", forms[kind], rng.choice(("", ".", ",", ")"))


def ip(rng: random.Random) -> tuple[str, str, str]:
    if rng.random() < 0.3:
        return "", "2a02:" + ":".join(f"{rng.getrandbits(16):x}" for _ in range(7)), ""
    middle = ".".join(str(rng.randint(0, 255)) for _ in range(2))
    address = f"{rng.choice((5, 46, 62, 81, 93, 134, 185, 212))}.{middle}.{rng.randint(20, 254)}"
    return (
        rng.choice((("", ""), ("http://", "/index"), ("from ", ":443"), ("[", "]")))[0],
        address,
        "",
    )


def secret(rng: random.Random) -> tuple[str, str, str]:
    letters = string.ascii_letters + string.digits
    body = "".join(rng.choices(letters, k=36))
    kind = rng.randrange(9)
    forms = (
        ("", "AKIA" + "".join(rng.choices(string.ascii_uppercase + "234567", k=16)), ""),
        ("", "ghp_" + body, ""),
        ("", f"xoxb-{digits(rng, 12)}-{digits(rng, 12)}-{body[:24]}", ""),
        ("", "AIza" + body[:35], ""),
        ("", "sk_live_" + body[:24], ""),
        ("", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{body[:20]}.{body}", ""),
        ('api_key = "', body[:32], '"'),
        ('"password": "', body[:18], '"'),
        ("", f"-----BEGIN RSA PRIVATE KEY-----\n{body}{body}\n-----END RSA PRIVATE KEY-----", ""),
    )
    return forms[kind]


def with_luhn(number: str) -> str:
    for check in string.digits:
        total = 0
        for place, digit in enumerate(reversed(number + check)):
            value = int(digit) * (1 + place % 2)
            total += value - 9 * (value > 9)
        if total % 10 == 0:
            return number + check
    raise AssertionError


def card(rng: random.Random) -> tuple[str, str, str]:
    prefix, size = rng.choice((("4", 16), ("53", 16), ("37", 15), ("6011", 16), ("2345", 16)))
    number = with_luhn(prefix + digits(rng, size - len(prefix) - 1))
    if size == 16 and rng.random() < 0.6:
        mark = rng.choice(" -")
        number = mark.join(number[k : k + 4] for k in range(0, 16, 4))
    return rng.choice(("", "card ", "Visa: ")), number, ""


def bank(rng: random.Random) -> tuple[str, str, str]:
    if rng.random() < 0.3:
        while True:
            number = f"0{rng.randint(1, 9)}{digits(rng, 7)}"
            if sum(int(d) * w for d, w in zip(number, (3, 7, 1) * 3, strict=True)) % 10 == 0:
                return rng.choice(("routing number: ", "ABA # ", "Routing no. ")), number, ""
    country, size = rng.choice((("DE", 22), ("GB", 22), ("NL", 18), ("FR", 27), ("NO", 15)))
    body = digits(rng, size - 4)
    if country in ("GB", "NL"):
        body = "".join(rng.choices(string.ascii_uppercase, k=4)) + body[4:]
    rest = int("".join(str(int(c, 36)) for c in body + country + "00")) % 97
    iban = f"{country}{98 - rest:02}{body}"
    if rng.random() < 0.5:
        iban = " ".join(iban[k : k + 4] for k in range(0, size, 4))
    return rng.choice(("", "IBAN ", "account ")), iban, ""


def ssn(rng: random.Random) -> tuple[str, str, str]:
    parts = f"{rng.randint(1, 665):03}", f"{rng.randint(1, 99):02}", f"{rng.randint(1, 9999):04}"
    if rng.random() < 0.3:
        return rng.choice(("SSN: ", "social security number ")), "".join(parts), ""
    return "", "-".join(parts), ""


def decoy(rng: random.Random) -> str:
    a, b, c = american(rng)

    def two(low: int, high: int) -> str:
        return f"{rng.randint(low, high):02}"

    forms = (
        f"version {rng.randint(1, 9)}.{rng.randint(0, 20)}.{two(10, 99)}.{two(10, 99)}",
        f"Chrome/{rng.randint(20, 90)}.0.{rng.randint(1000, 4999)}.{rng.randint(0, 200)}",
        f"ISBN 978-0-{digits(rng, 3)}-{digits(rng, 5)}-{digits(rng, 1)}",
        f"ISBN 0-{digits(rng, 3)}-{digits(rng, 5)}-{digits(rng, 1)}",
        f"20{digits(rng, 2)}-{two(1, 12)}-{two(1, 28)} 12:{two(0, 59)}:{two(0, 59)}",
        f"{rng.randint(1, 12):02}/{rng.randint(1, 28):02}/2011 {rng.randint(10, 23)}:30",
        f"{digits(rng, 3)}-{digits(rng, 3)}-{digits(rng, 4)}-{digits(rng, 2)}",
        f"x = 3.{digits(rng, 12)} + {digits(rng, 8)}",
        f"{a} {b} {c} {digits(rng, 3)} {digits(rng, 4)}",
        "sha1 " + "".join(rng.choices("0123456789abcdef", k=40)),
        "id 550e8400-e29b-41d4-a716-" + digits(rng, 12),
        "@app.route('/x')\n@functools.wraps(f)",
        f"git@github.com:acme/repo{digits(rng, 2)}.git",
        "$x@y$ and \\texttt{@article.key}",
        f"logo@{rng.randint(2, 3)}x.png",
        f"react@{rng.randint(15, 18)}.{rng.randint(0, 9)}.1",
        f"192.168.{rng.randint(0, 255)}.{rng.randint(0, 255)}",
        f"10.{rng.randint(0, 255)}.0.1 and 203.0.113.{rng.randint(1, 254)}",
        f"2001:db8::{rng.randint(1, 9)} at {two(0, 23)}:{two(0, 59)}:{two(0, 59)}",
        f"section {rng.randint(1, 9)}.{rng.randint(1, 9)}.{rng.randint(1, 9)}.{rng.randint(1, 9)}",
        "std::vector<int>::iterator a::b::c",
        f"arXiv:{rng.randint(10, 20)}{rng.randint(1, 12):02}.{digits(rng, 5)}",
        f"doi:10.{digits(rng, 4)}/s{digits(rng, 5)}-{digits(rng, 3)}-{digits(rng, 4)}-x",
        f"order {digits(rng, 8)}, page {digits(rng, 4)}-{digits(rng, 4)}",
        f"$ {digits(rng, 3)},{digits(rng, 3)},{digits(rng, 3)}.00",
        f"1998-2004 {digits(rng, 5)}-{digits(rng, 4)}",
        "token = getTokenFromRequest2Headers(request)",
        "password: your-password-here-1",
        "user@example.com, test@localhost",
        f"CD{rng.randint(10, 99)} positive and MH17 over eastern",
        f"{digits(rng, 4)} {digits(rng, 4)} {digits(rng, 4)} {digits(rng, 4)} {digits(rng, 4)}",
        f"01 02 03 04 05 06 {digits(rng, 2)}",
        f"a[{digits(rng, 2)}] = 0x{digits(rng, 16)};",
        f"http://npr.org/2017/{digits(rng, 2)}/{digits(rng, 2)}/{digits(rng, 9)}/x",
    )
    return rng.choice(forms)


PLANTS = {
    "email": email,
    "phone": phone,
    "ip": ip,
    "secret": secret,
    "card": card,
    "bank": bank,
    "ssn": ssn,
}


def labelled(seed: int, num_each: int) -> tuple[str, list[tuple[str, int, int]]]:
    """A text and its items: category, start and stop in characters (all are ASCII)."""
    rng = random.Random(seed)
    kinds = [kind for kind in PLANTS for _ in range(num_each)] + ["decoy"] * (num_each * 7)
    rng.shuffle(kinds)
    parts: list[str] = []
    items: list[tuple[str, int, int]] = []
    size = 0
    for kind in kinds:
        lead = " ".join(rng.choices(WORDS, k=rng.randint(2, 9))) + " "
        if kind == "decoy":
            before, item, after = "", decoy(rng), ""
        else:
            before, item, after = PLANTS[kind](rng)
            start = size + len(lead) + len(before)
            items.append((kind, start, start + len(item)))
        parts.append(lead + before + item + after + rng.choice((" ", "\n", " ", "\n\n")))
        size += len(parts[-1])
    return "".join(parts), items
