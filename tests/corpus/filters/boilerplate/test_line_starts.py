"""Lines found in one scan, against splitting (PILE-8)."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.filters.boilerplate.line_starts import (
    MAX_LINE,
    find_lines,
    have_lines,
    line_keys,
)
from barrow.corpus.kernels.scratch import Scratch

KEYS = line_keys(["read more", "login"])


def lines_of(text: str) -> list[str]:
    data = np.frombuffer(text.encode(), np.uint8)
    starts, stops = find_lines(data, np.array([0, len(data)], np.int64), KEYS, Scratch())
    return [data[a:b].tobytes().decode() for a, b in zip(starts, stops, strict=True)]


def expected(text: str) -> list[str]:
    found = []
    for line in text.split("\n"):
        words = re.findall("[a-z0-9]+", line.lower(), re.ASCII)
        start = line.lstrip(" \t")
        marks = len(re.findall("[|›»·•]", line))
        if len(line.encode()) > MAX_LINE:
            continue
        if marks >= 3 or (
            len(start.encode()) >= 3
            and (
                words[:2] in (["read", "more"], ["login"])
                or start.startswith(("©", "("))
                or start[:3].lower() == "cop"
                or re.search(r"reserved[^a-zA-Z]*$", line, re.IGNORECASE | re.ASCII)
            )
        ):
            found.append(line)
    return found


PIECES = [
    "read",
    "MORE",
    "login",
    " ",
    " ",
    "\n",
    "\n",
    "|",
    "›",
    "é",
    "reserved",
    "©",
    "copy",
    "x" * 99,
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_as_by_splitting(text: str) -> None:
    assert lines_of(text) == expected(text)


def test_many() -> None:
    assert lines_of("read more\n" * 3000) == ["read more"] * 3000


def test_texts_end_where_they_end() -> None:
    data = np.frombuffer(b"loginread more|||", np.uint8)
    offsets = np.array([0, 5, 14, 17], np.int64)
    assert have_lines(data, offsets, KEYS).tolist() == [True, True, True]
    assert have_lines(data, np.array([0, 4, 16], np.int64), KEYS).tolist() == [False, False]
