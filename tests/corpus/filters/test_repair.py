"""Repair touches what it changes and nothing else (PILE-8)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.config import from_json, to_json
from barrow.corpus.filters.repair import Repair
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch

PIECES = st.one_of(
    st.text(max_size=12),
    st.text("ab é\r\n\t\x00\x85\u2028\ufeff\x7f\x92", max_size=8),
    st.sampled_from(["Ã©", "â€™", "Â\u00a0", "ð\u009f\u0098\u0080", "Ã", "€", "plain words here"]),
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


def touched(*texts: str, repair: Repair | None = None) -> list[bool]:
    texts_ = Texts.of_strings(texts, [{}] * len(texts), Scratch())
    return list((repair or Repair()).touches(texts_).tolist())


@pytest.mark.parametrize(
    ("text", "mended", "found"),
    [
        ("a\r\nb\rc\u2028d\u2029e\x0bf\x0cg\x85h", "a\nb\nc\nd\ne\nf\ng\nh", {"line-ends": 7}),
        ("a\x00b\x1bc\x7fd\ufeffe\x08", "abcde", {"controls": 5}),
        ("itâ€™s", "it’s", {"mojibake": 1}),
        ("it\x92s", "it’s", {"c1": 1}),
        ("a\x81\x92", "a’", {"c1": 1, "controls": 1}),
        ("ï»¿Hello", "Hello", {"mojibake": 1, "controls": 1}),
        ("clean\ttext\n— “fine” e\u0301 \ufffd", "clean\ttext\n— “fine” e\u0301 \ufffd", {}),
        ("", "", {}),
    ],
)
def test_repair(text: str, mended: str, found: dict[str, int]) -> None:
    done = Repair().rewrite(text, {})
    assert (done.text, done.found) == (mended, found)
    assert touched(text) == [bool(found)]
    assert Repair().rewrite(mended, {}).text == mended


@pytest.mark.parametrize(
    "odd", ["\r", "\x00", "\x1f", "\x7f", "\x92", "\u2028", "\ufeff", "Ã©", "\ufffa"]
)
@pytest.mark.parametrize("lead", range(0, 20, 3))
def test_wherever_it_is(odd: str, lead: int) -> None:
    for filler in ("x", "é"):
        assert touched(filler * lead + odd + "y" * 9, "y" * 9, odd) == [True, False, True]


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXTS, max_size=4))
def test_touches_misses_nothing_whatever_lies_beside(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    together = touched(*texts)
    for i, text in enumerate(texts):
        assert together[i] == touched(text)[0]
        assert together[i] or Repair().rewrite(text, {}).text == text


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_once_is_enough(text: str) -> None:
    once = Repair().rewrite(text, {}).text
    assert not any(unicodedata.category(c) == "Cc" and c not in "\t\n" for c in once)
    assert "\r" not in once
    assert "\u2028" not in once


def test_forms() -> None:
    text = "cafe\u0301 ﬁ"
    assert Repair("NFC").rewrite(text, {}).text == "café ﬁ"
    assert Repair("NFC").rewrite(text, {}).found == {"form": 1}
    assert Repair("NFC").rewrite("café", {}).found == {}
    assert touched(text, "plain", "café") == [False, False, False]
    assert touched(text, "plain", "café", repair=Repair("NFC")) == [True, False, True]
    assert from_json(Repair, to_json(Repair("NFKC"))) == Repair("NFKC")
