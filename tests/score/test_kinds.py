"""Kinds of text, against a slow definition; they partition the bytes."""

from __future__ import annotations

import random
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.score.kinds import KINDS, byte_kinds, frequent_words, totals

SPACE, DIGITS, PUNCTUATION, CODE, FREQUENT, RARE, OTHER = range(7)


LATIN = [chr(c) for c in range(0x110000) if unicodedata.name(chr(c), "").startswith("LATIN ")]
WORD = re.compile(f"[{re.escape(''.join(filter(str.isalpha, LATIN)))}]+")
RUN = re.compile("[A-Za-z0-9_]+")


def slow_kinds(text: str) -> list[int]:
    """By regular expressions and `unicodedata`."""
    kinds: list[int] = []
    at = 0
    while at < len(text):
        run = None if at and RUN.match(text[at - 1]) else RUN.match(text, at)
        word = WORD.match(text, at)
        if run and re.search("_|[a-z][A-Z]", run[0]):
            found, kind = run[0], CODE
        elif word:
            found = word[0]
            kind = FREQUENT if found.isascii() and found.lower() in frequent_words() else RARE
        else:
            found, kind = text[at], _kind(text[at])
        kinds += [kind] * len(found.encode())
        at += len(found)
    return kinds


def _kind(character: str) -> int:
    category = unicodedata.category(character)
    if character.isspace():
        return SPACE
    if category == "Nd":
        return DIGITS
    if character.isascii() and character.isprintable():
        return PUNCTUATION if character in ".,;:!?'\"()-" else CODE
    return PUNCTUATION if category[0] == "P" else OTHER


CHARACTERS = "aZ_0 9.{=\n\x00é—日П∑🙂½٣\u3000ſﬁＡ\u0301ßthe"


@given(st.text(st.sampled_from(CHARACTERS), max_size=30) | st.text(max_size=20))
def test_equals_the_definition(text: str) -> None:
    assert byte_kinds(text.encode()).tolist() == slow_kinds(text)


@given(st.binary(max_size=40), st.integers(0, 10))
def test_any_bytes_are_partitioned_and_sums_are_kept(data: bytes, seed: int) -> None:
    nats = np.random.default_rng(seed).exponential(size=len(data))
    found, total = totals(data, nats)
    kinds = byte_kinds(data)
    assert found.sum() == len(data)
    assert total.sum() == pytest.approx(nats.sum(), rel=1e-12, abs=1e-15)
    for kind in range(len(KINDS)):
        assert found[kind] == (kinds == kind).sum()
        assert total[kind] == pytest.approx(nats[kinds == kind].sum(), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat", "fff fff"),
        ("floccinaucinihilipilification", "r" * 29),
        ("naïve café", "rrrrrr rrrrr"),
        ("x = 12;", "f c ddp"),
        ("snake_case camelCase PascalCase UPPER", "cccccccccc ccccccccc cccccccccc fffff"),
        ("v2 3rd", "fd drr"),
        ("wait—what?", "ffffpppffffp"),
        ("日本 Привет", "oooooo oooooooooooo"),
        ("€5 🙂", "oood oooo"),
        ("don't", "fffpf"),
        ("ña_b é_b fooé", "rrrcf rrcc rrrrr"),
    ],
)
def test_examples(text: str, expected: str) -> None:
    letters = " dpcfro"
    assert "".join(letters[kind] for kind in byte_kinds(text.encode())) == expected


def test_bytes_that_are_no_utf8() -> None:
    found = byte_kinds(b"a\xff\xe2\x80 \xc3")
    assert found.tolist() == [FREQUENT, OTHER, OTHER, OTHER, SPACE, OTHER]


def test_a_long_run_is_looked_at_once() -> None:
    """A megabyte of hexadecimal digits: anything quadratic would not end."""
    rng = random.Random(0)
    text = "".join(rng.choices("0123456789abcdef", k=1 << 20))
    found = np.bincount(byte_kinds(text.encode()), minlength=len(KINDS))
    assert found[DIGITS] == sum(character.isdigit() for character in text)


def test_long_texts_lose_no_digits() -> None:
    nats = np.full(3_000_000, 0.1)
    _, total = totals(b"a" * len(nats), nats)
    assert total.sum() == pytest.approx(300_000, rel=1e-13)


def test_without_nats_of_bytes() -> None:
    found, total = totals(b"a 1", None)
    assert found.tolist() == [1, 1, 0, 0, 1, 0, 0]
    assert np.isnan(total).all()


def test_empty() -> None:
    found, total = totals(b"", np.empty(0))
    assert (found.tolist(), total.tolist()) == ([0] * 7, [0.0] * 7)


def test_the_list_of_words() -> None:
    words = frequent_words()
    assert len(words) == 5000
    assert {"the", "of", "is"} <= words
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)


def test_other_numbers_than_bytes() -> None:
    with pytest.raises(ValueError, match="expected 3 numbers, one per byte, got 2"):
        totals(b"abc", np.zeros(2))
