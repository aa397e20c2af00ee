"""Statistics of a text depend on that text alone, and are made in linear time (PILE-8)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.filters.statistics.statistics import Statistics, share
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch

PIECES = [
    "the ",
    "quick, ",
    "brown\n",
    "fox",
    "\n\n",
    "...",
    "é ",
    "日本。",
    "\r\n",
    "- ",
    "x" * 70,
    "\u00a0",
]
PIECES += ["a sentence of more than sixty-four bytes, so that a whole window lies in it. "]
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


def figures(statistics: Statistics, number: int) -> list[Any]:
    """All that is known about one text."""
    result: list[Any] = [int(count[number]) for count in statistics.characters]
    words, lines = statistics.words, statistics.lines
    for part in (words, lines):
        first, last = part.offsets[number], part.offsets[number + 1]
        for name in part._fields:
            array = getattr(part, name)
            if name in ("hashes", "lengths"):
                result.append(array[first:last].tolist())
            elif name != "offsets":
                result.append(int(array[number]))
    return [*result, statistics.ngrams.characters[:, number].tolist()]


@given(st.lists(texts, max_size=6))
def test_neighbours_make_no_difference(documents: list[str]) -> None:
    scratch = Scratch()
    scratch.take("ngram-table", 1000, np.uint32)[:] = 7  # what lies there must not matter
    together = Texts.of_strings(documents, [{}] * len(documents), scratch).statistics
    for number, document in enumerate(documents):
        alone = Texts.of_strings([document], [{}], Scratch()).statistics
        assert figures(together, number) == figures(alone, 0)


def test_part_of_a_buffer() -> None:
    """A slice of a block has offsets that do not begin at 0."""
    whole = Texts.of_strings(["before. ", "some text here", "after"], [{}] * 3, Scratch())
    part = Texts(whole.text, whole.offsets[1:3], [{}], Scratch())
    assert figures(part.statistics, 0) == figures(whole.statistics, 1)


def test_no_texts() -> None:
    statistics = Texts.of_strings([], [], Scratch()).statistics
    assert len(statistics.characters.letters) == len(statistics.lines.lines) == 0
    assert statistics.words.num_words.shape == (0,)
    assert statistics.ngrams.characters.shape[1] == 0


@pytest.mark.parametrize(
    "piece",
    ["a", "a ", "\n", "a\n", ".", "\u00a0", "日", "word word ", "\r", "\x00\x01", "- \n", "é.\n\n"],
)
def test_large_texts_of_one_piece(piece: str) -> None:

    def act(n: int) -> None:
        text = piece * n
        statistics = Texts.of_strings([text], [{}], Scratch()).statistics
        assert statistics.characters.characters[0] == len(text)
        assert statistics.words.num_words[0] == len(text.split())
        assert statistics.lines.lines[0] == len(text.splitlines())
        assert statistics.ngrams.characters[10, 0] <= len(text)

    check_linear(act, 30_000)


def test_binary_noise() -> None:
    noise = np.random.default_rng(0).integers(0, 256, 300_000, np.uint8).tobytes()
    text = noise.decode("utf-8", "replace")
    statistics = Texts.of_strings([text], [{}], Scratch()).statistics
    assert statistics.characters.characters[0] == len(text)
    assert statistics.words.num_words[0] == len(text.split())


def test_shares_of_nothing() -> None:
    assert share(np.array([0, 1, 3]), np.array([0, 2, 1])).tolist() == [0.0, 0.5, 3.0]
