"""What is cut from a text, and what is left of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.dedup.passages.windows import Places

_WHITE = bytes(range(0x21))
BREAK = b"\n\n"


class Runs(NamedTuple):
    """Words `start` to `stop` of a document are cut, because of windows ``first`` to ``last``."""

    document: Places
    start: Places
    stop: Places
    first: Places
    last: Places


def join_windows(document: Places, start: Places, min_words: int) -> Runs:
    """Join windows that overlap or touch, sorted by document and start, to runs."""
    apart = (document[1:] != document[:-1]) | (start[1:] > start[:-1] + min_words)
    first = np.flatnonzero(np.r_[True, apart][: len(start)])
    last = np.r_[first[1:], len(start)][: len(first)].astype(np.int64)
    return Runs(document[first], start[first], start[last - 1] + min_words, first, last)


def cut_runs(
    text: bytes, starts: Places, ends: Places, runs: Sequence[tuple[int, int]]
) -> tuple[bytes, list[bytes]]:
    """A text without some runs of its words, and what these were.

    `starts` and `ends` are those of all words, `runs` are in order and disjoint. Marks directly
    before or after a word (a quotation mark, a full stop) go with it; marks between two words
    without white space go with the first. Where a run was, the text has a paragraph break; the rest
    is as it was, indentation included.
    """
    view = np.frombuffer(text, np.uint8)
    kept: list[bytes] = []
    passages: list[bytes] = []
    at = 0
    for first, stop in runs:
        begin, end = int(starts[first]), int(ends[stop - 1])
        before = int(ends[first - 1]) if first > 0 else 0
        white = _white(view[before:begin])
        if len(white):
            begin = before + int(white[-1]) + 1
        elif first == 0:
            begin = 0
        after = int(starts[stop]) if stop < len(starts) else len(text)
        white = _white(view[end:after])
        end = end + int(white[0]) if len(white) else after
        kept.append(text[at:begin])
        passages.append(text[begin:end])
        at = end
    kept.append(text[at:])
    pieces = [piece.rstrip(_WHITE) for piece in kept[:-1]] + kept[-1:]
    pieces = [pieces[0], *map(_from_first_line, pieces[1:])]
    return BREAK.join(piece for piece in pieces if piece), passages


def _white(gap: npt.NDArray[np.uint8]) -> Places:
    return np.flatnonzero(gap <= 0x20)


def _from_first_line(piece: bytes) -> bytes:
    """Without leading white space, except the indentation of the first line with text."""
    black = piece.lstrip(_WHITE)
    if not black:
        return b""
    line_start = piece.rfind(b"\n", 0, len(piece) - len(black)) + 1
    return piece[line_start:] if line_start else black
