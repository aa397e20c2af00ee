"""Content hashes: equal where only white space differs, and nowhere else (PILE-12)."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.dedup.exact import content_hashes


def hashes_of(*texts: str) -> list[tuple[int, int]]:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    found = content_hashes(np.frombuffer(b"".join(data), np.uint8), offsets)
    return [(a, b) for a, b in found.tolist()]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.text("abc+-é日 \n\t", max_size=200), min_size=1, max_size=6),
    st.sampled_from([" ", "\n", "\r\n  ", "\t\t"]),
)
def test_only_white_space_makes_no_difference(texts: list[str], space: str) -> None:
    spaced = [space + re.sub(r"[ \n\t]+", space, text) + space for text in texts]
    assert hashes_of(*spaced, "tail" * 30)[:-1] == [hashes_of(text)[0] for text in texts]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab+- \n", max_size=100), min_size=2, max_size=20))
def test_anything_else_does(texts: list[str]) -> None:
    normal = [" ".join(text.split()) for text in texts]
    assert len(set(hashes_of(*texts))) == len(set(normal))


def test_runs_of_any_length() -> None:
    texts = ["x" * size for size in range(300)] + ["é" * size for size in range(1, 150)]
    assert len(set(hashes_of(*texts))) == len(texts)
    assert len(set(hashes_of("a b c", "abc", "ab c", "A b c", "a b", ""))) == 6
