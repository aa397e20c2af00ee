"""Card, bank and social security numbers.

* Cards: the issuers' lengths and first digits, with the Luhn check, as one number or in their usual
  groups. The test numbers that payment services publish are left.
* Bank: an IBAN of its country's length with a valid check; in the United States a labelled routing
  number (ABA) with a valid check, and a labelled account number near it.
* Social security: 3-2-4 digits with hyphens in the ranges that were issued; without hyphens only
  with a label.
"""

from __future__ import annotations

import re

from barrow.corpus.filters.pii.found import Found
from barrow.corpus.filters.pii.number_groups import (
    Groups,
    groups_of,
    is_alone,
    no_numbers_beside,
)

_ISSUERS = re.compile(
    r"4\d{15}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|"
    r"6(?:011|4[4-9]\d|5\d\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
)
_CARD_SHAPES = ([4, 4, 4, 4], [4, 6, 5], [4, 6, 4])
_TEST_CARDS = """
4111111111111111 4242424242424242 4012888888881881 4000056655665556 5555555555554444
5105105105105100 2223003122003222 378282246310005 371449635398431 378734493671000
6011111111111117 6011000990139424 30569309025904 38520000023237 3530111333300000
3566002020360505 4000000000000002 4444333322221111 5424000000000015
"""
_IBANS = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20
EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30
KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24
PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SD18 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29
VA22 VG24 XK20
"""
_IBAN_SIZES = {entry[:2]: int(entry[2:]) for entry in _IBANS.split()}
_ROUTING_LABEL = re.compile(
    rb"(?<![a-z])(?:routing|aba|rtn|transit)[\s/.:#()-]{0,3}"
    rb"(?:(?:number|no|num|code|transit|routing|rtn|aba)[\s/.:#()-]{0,3}){0,3}[\s:=#]{0,3}$",
    re.IGNORECASE,
)
_ACCOUNT_LABEL = re.compile(
    rb"(?<![a-z])(?:account|acct|a/c)[\s.:#-]{0,3}(?:(?:number|no|num)[\s.:#-]{0,3})?[\s:=#]{0,3}$",
    re.IGNORECASE,
)
_ROUTING_NUMBER = re.compile(rb"(?<!\d)\d{9}(?!\d)")
_SSN_LABEL = re.compile(
    rb"(?<![a-z])(?:ssn|ss#|social security)[\s.:#-]{0,3}"
    rb"(?:(?:number|no|num|is)[\s.:#-]{0,3}){0,2}$",
    re.IGNORECASE,
)
# Used in advertisements, and the first of the range reserved for them.
_PUBLISHED_SSN = ("078051120", "219099999", "123456789", "987654321")


def check_account(data: bytes, start: int, stop: int) -> Found | None:
    """A social security, card, routing or account number at the start of a window of digits."""
    if data[start : start + 1] == b"+":
        return None
    start += data[start : start + 1] == b"("
    groups = groups_of(data, start, stop)
    return _ssn(data, start, groups) or _card(data, start, groups) or _bank(data, start, groups)


def check_iban(data: bytes, start: int, stop: int) -> Found | None:
    """An IBAN at the start of a window of letters, digits and blanks."""
    size = _IBAN_SIZES.get(data[start : start + 2].decode())
    if size is None:
        return None
    num, place = 0, start
    while num < size and place < stop:
        num += data[place] != 0x20
        place += 1
    written = data[start:place]
    iban = written.replace(b" ", b"").decode()
    if num < size or data[place : place + 1].isalnum() or iban != iban.upper() or not mod_97(iban):
        return None
    return Found("bank", start, place)


def _ssn(data: bytes, start: int, groups: Groups) -> Found | None:
    labelled = _SSN_LABEL.search(data, max(0, start - 40), start) is not None
    num_groups = 1 if groups.sizes[0] == 9 else 3
    if not labelled and (num_groups == 1 or groups.marks[:2] != [b"-", b"-"]):
        return None
    if groups.sizes[:num_groups] not in ([9], [3, 2, 4]):
        return None
    digits, stop = "".join(groups.digits[:num_groups]), groups.stops[num_groups - 1]
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    if area in ("000", "666") or area[0] == "9" or group == "00" or serial == "0000":
        return None
    if digits in _PUBLISHED_SSN or not (labelled or is_alone(data, start, stop)):
        return None
    return Found("ssn", start, stop)


def _card(data: bytes, start: int, groups: Groups) -> Found | None:
    sizes = groups.sizes
    num_groups = 1
    for shape in _CARD_SHAPES:
        if sizes[: len(shape)] == shape and len(set(groups.marks[: len(shape) - 1])) == 1:
            num_groups = len(shape)
    if num_groups > 1 and groups.marks[0] not in (b" ", b"-"):
        return None
    digits, stop = "".join(groups.digits[:num_groups]), groups.stops[num_groups - 1]
    if not _ISSUERS.fullmatch(digits) or not luhn(digits) or digits in _TEST_CARDS.split():
        return None
    # Fourteen digits without groups are more often something else.
    if sizes[0] == 14 or len(set(digits)) < 4 or not is_alone(data, start, stop):
        return None
    if num_groups > 1 and not no_numbers_beside(data, start, stop):
        return None
    return Found("card", start, stop)


def _bank(data: bytes, start: int, groups: Groups) -> Found | None:
    digits, stop = groups.digits[0], groups.stops[0]
    if data[stop : stop + 1].isalnum():
        return None
    if _ROUTING_LABEL.search(data, max(0, start - 48), start):
        is_one = len(digits) == 9 and routing(digits) and "00" < digits[:2] < "81"
        return Found("bank", start, stop) if is_one else None
    if 6 <= len(digits) <= 17 and _ACCOUNT_LABEL.search(data, max(0, start - 32), start):
        for near in _ROUTING_NUMBER.finditer(data, max(0, start - 160), start):
            label = _ROUTING_LABEL.search(data, max(0, near.start() - 48), near.start())
            if label and routing(near.group().decode()):
                return Found("bank", start, stop)
    return None


_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def luhn(digits: str) -> bool:
    """Whether decimal digits satisfy ISO/IEC 7812's check, as card numbers do."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit)
        total += _DOUBLED[value] if place % 2 else value
    return total % 10 == 0


def mod_97(iban: str) -> bool:
    """Whether capitals and digits satisfy ISO 13616's check, as IBANs do."""
    moved = iban[4:] + iban[:4]
    return int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


def routing(digits: str) -> bool:
    """Whether nine digits satisfy the check of the American Bankers Association."""
    weights = (3, 7, 1) * 3
    return sum(int(d) * w for d, w in zip(digits, weights, strict=True)) % 10 == 0
