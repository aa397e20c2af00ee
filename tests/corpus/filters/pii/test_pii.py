"""Personal data replaced or counted (PILE-8)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.config import from_json, to_json
from barrow.corpus.filters.pii.found import CATEGORIES
from barrow.corpus.filters.pii.pii import RedactPii, RejectPii, find_pii
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

BODY = "q7Rt2LmX9cVb4NzK8wPj3HsD6fGy1TeQ5uAo"
SAMPLE = {
    "email": "joe@host.org",
    "phone": "713-853-1411",
    "ip": "165.123.34.86",
    "secret": "ghp_" + BODY,
    "card": "4539578763621486",
    "bank": "DE89370400440532013000",
    "ssn": "123-45-6780",
}
PIECES = [
    *SAMPLE.values(),
    *(
        "2a02:8071:2b80::1",
        "+44 20 7300 0141",
        "Tel: 555-1234",
        "é",
        "—",
        "日本",
        "\n",
        "@",
        "1",
        ".",
    ),
    *(" ", " ", " ", "-", "(", ")", "+", ":", "/", "word", "12", "345", "6789", "=", "'", "G"),
    *("-----BEGIN PRIVATE KEY-----", BODY, "token: ", "00", "x@y.com"),
]


def texts_of(*texts: str) -> Texts:
    return Texts.of_strings(texts, [{}] * len(texts), Scratch())


@pytest.mark.parametrize("category", CATEGORIES)
def test_each_category_has_its_placeholder(category: str) -> None:
    text = f"Über {SAMPLE[category]} — sagt er."
    placeholder = f"<{category.upper()}>"
    assert RedactPii().touches(texts_of(text)).tolist() == [True]
    done = RedactPii().rewrite(text, {})
    assert done.text == f"Über {placeholder} — sagt er."
    assert done.found == {category: 1}
    assert RedactPii((category,)).rewrite(text, {}) == done
    others = tuple(other for other in CATEGORIES if other != category)
    assert RedactPii(others).rewrite(text, {}).text == text


def test_redacting_is_done_once() -> None:
    text = "; ".join(SAMPLE.values()) + " " + SAMPLE["email"]
    done = RedactPii().rewrite(text, {})
    assert done.text == "<EMAIL>; <PHONE>; <IP>; <SECRET>; <CARD>; <BANK>; <SSN> <EMAIL>"
    assert done.found == {**dict.fromkeys(CATEGORIES, 1), "email": 2}
    assert RedactPii().rewrite(done.text, {}).text == done.text
    assert find_pii(done.text) == []


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=5))
def test_neighbours_in_the_buffer_make_no_difference(texts: list[str]) -> None:
    redact, reject = RedactPii(), RejectPii(dict.fromkeys(CATEGORIES, 0), {})
    touched = redact.touches(texts_of(*texts)).tolist()
    decided = reject.decide(texts_of(*texts))
    for i, text in enumerate(texts):
        found = find_pii(text)
        assert touched[i] == redact.touches(texts_of(text)).tolist()[0]
        assert touched[i] or not found
        alone = reject.decide(texts_of(text))
        assert decided.code[i] == alone.code[0]
        assert decided.value[i] == alone.value[0]
        if found:
            first = min(CATEGORIES.index(one.category) for one in found)
            assert reject.reasons[decided.code[i] - 1] == f"pii-{CATEGORIES[first]}"
        else:
            assert decided.code[i] == 0


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.text(max_size=200),
        st.text("0123456789 -.()+/:@Gax_", max_size=120),
        st.lists(st.sampled_from(PIECES), max_size=20).map("".join),
    )
)
def test_any_text(text: str) -> None:
    found = find_pii(text)
    data = text.encode()
    assert all(0 <= one.start < one.stop <= len(data) for one in found)
    assert all(a.stop <= b.start for a, b in pairwise(found))
    done = RedactPii().rewrite(text, {})
    assert sum(done.found.values()) == len(found)
    assert len(done.text.encode()) == len(data) + sum(
        len(one.category) + 2 - (one.stop - one.start) for one in found
    )


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "1", "@", "a@", "1.", "1 ", "12 345 ", "+1", "(", ":", "2001:", "a@b.cc", "é", "日"),
        *("-----BEGIN ", "\n", "\x00", "AKIA", "eyJh", "token=", "a" * 15 + " ", "DE89", "1-"),
        *(BODY + "/", "-----BEGIN PRIVATE KEY-----", "http://a:b@", "Tel: 1"),
    ],
)
def test_time_is_linear(piece: str) -> None:
    check_linear(lambda n: find_pii(piece * (n // len(piece))), 50_000)


def test_limits() -> None:
    mails = " ".join(f"joe{k}@host.org" for k in range(12))
    texts = texts_of(
        mails, mails + " " + "x" * 2000, "joe@host.org", "", " ".join([SAMPLE["ssn"]] * 4)
    )
    decisions = RejectPii().decide(texts)
    assert decisions.code.tolist() == [1, 0, 0, 0, 7]
    assert decisions.value.tolist() == [12, 0, 0, 0, 4]
    assert RejectPii().cause("pii-email", 12) == "12 of email, more than 10 in 1,000 bytes"
    both = RejectPii({"ip": 2}, {"ip": 0.5})
    assert both.cause("pii-ip", 3) == "3 of ip, more than 2 or 0.5 in 1,000 bytes"
    assert both.decide(texts_of("165.123.34.86", "x" * 4000 + " 165.123.34.86")).code.tolist() == [
        3,
        0,
    ]
    assert RejectPii({}, {}).decide(texts).code.tolist() == [0] * 5
    assert RejectPii({"email": 0}, {}).decide(texts).value.tolist() == [12, 12, 1, 0, 0]


def test_settings() -> None:
    for settings_ in (RedactPii(("email",)), RejectPii({"card": 1}, {"ip": 2.0})):
        assert from_json(type(settings_), to_json(settings_)) == settings_
    for bad in (
        lambda: RedactPii(("mail",)),
        lambda: RejectPii({"x": 1}),
        lambda: RejectPii({}, {"x": 1}),
    ):
        with pytest.raises(ConfigError, match="email, phone"):
            bad()


def test_what_is_inside_another_find_is_not_counted() -> None:
    header, footer = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
    text = f"a {header}\nFrom: joe@host.org\n{BODY}\n{footer} b"
    assert RedactPii().rewrite(text, {}).text == "a <SECRET> b"
    assert RejectPii({"email": 0}, {}).decide(texts_of(text)).code.tolist() == [0]


def test_more_windows_than_expected() -> None:
    text = "a@b.de " * 5000
    assert len(find_pii(text)) == 5000
    assert np.array(RejectPii({"email": 1}, {}).decide(texts_of(text)).value).tolist() == [5000]
