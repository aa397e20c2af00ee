from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.pages.numbers import (
    length_range,
    power_of_two,
    readable_count,
    readable_share,
    readable_size,
)

UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15, "EB": 10**18}


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (1_234, "1.2 kB"),
        (12_345_678, "12.3 MB"),
        (99_949, "99.9 kB"),
        (99_950, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (10**18 * 1_204, "1,204 EB"),
    ],
)
def test_sizes(number: int, words: str) -> None:
    assert readable_size(number) == words


@given(st.integers(0, 10**19))
def test_a_size_is_right_to_its_last_digit(number: int) -> None:
    value, unit = readable_size(number).split()
    digit = 0.1 if "." in value else 1
    assert abs(float(value.replace(",", "")) - number / UNITS[unit]) <= 0.5001 * digit
    assert float(value.replace(",", "")) < 1_000 or unit == "EB"


def test_counts() -> None:
    assert readable_count(1_234_567) == "1,234,567"


@pytest.mark.parametrize(
    ("part", "whole", "words"),
    [
        (0, 0, "–"),
        (0, 7, "0%"),
        (7, 7, "100%"),
        (41, 1_000, "4.1%"),
        (1, 10_000, "<0.1%"),
        (9_999, 10_000, ">99.9%"),
        (1, 2_000, "0.1%"),
        (3, 2, "150.0%"),
    ],
)
def test_shares(part: int, whole: int, words: str) -> None:
    assert readable_share(part, whole) == words


@given(st.integers(0, 70))
def test_a_size_lies_in_its_range(bits: int) -> None:
    for size in {(1 << bits) >> 1, (1 << bits) - 1}:
        assert size.bit_length() == bits
    words = length_range(bits)
    assert words == "empty" if bits == 0 else words.endswith(power_of_two(bits))


@pytest.mark.parametrize(
    ("bits", "words"),
    [(0, "empty"), (1, "1–2 B"), (10, "512 B – 1 KiB"), (12, "2–4 KiB"), (71, "1,024–2,048 EiB")],
)
def test_ranges_in_words(bits: int, words: str) -> None:
    assert length_range(bits) == words
