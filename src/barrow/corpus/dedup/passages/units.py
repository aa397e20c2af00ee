"""What a passage is made of: words, sentences, lines or paragraphs, each as a hash.

A word is that of `word_hashes`. The others are compared by their content, white space apart, in 64
bits: among 10^10 different lines about three pairs are expected to agree by chance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.corpus.dedup.exact import content_hashes
from barrow.corpus.dedup.settings import Unit
from barrow.corpus.filters.statistics.sentences import sentence_starts
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import Offsets, Words, word_hashes
from barrow.corpus.kernels.word_spans import Spans, word_spans

Text = npt.NDArray[np.uint8]

_LINE_END = 0x0A


def unit_hashes(unit: Unit, text: Text, offsets: Offsets, scratch: Scratch) -> Words:
    """Hashes of the units of texts in one UTF-8 buffer; blank ones are left out."""
    if unit == "word":
        return word_hashes(text, offsets, scratch)
    edges = _edges(unit, text, offsets)
    starts, ends = _trimmed(text, edges)
    black = starts < ends
    return Words(content_hashes(text, edges)[black, 0], np.searchsorted(edges[:-1][black], offsets))


def unit_spans(unit: Unit, text: Text, offsets: Offsets, scratch: Scratch) -> Spans:
    """Where the units of `unit_hashes` begin and end, without white space around them."""
    if unit == "word":
        return word_spans(text, offsets, scratch)
    edges = _edges(unit, text, offsets)
    starts, ends = _trimmed(text, edges)
    black = starts < ends
    return Spans(starts[black], ends[black], np.searchsorted(edges[:-1][black], offsets))


def _edges(unit: Unit, text: Text, offsets: Offsets) -> Offsets:
    """Where units begin, and the end of the last; each text begins one."""
    if unit == "sentence":
        return np.union1d(sentence_starts(text, offsets), offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    lines = np.union1d(np.flatnonzero(text[first:last] == _LINE_END) + (first + 1), offsets)
    if unit == "line":
        return lines
    starts, ends = _trimmed(text, lines)
    black = starts < ends
    return np.union1d(lines[:-1][black & ~np.r_[False, black[:-1]][: len(black)]], offsets)


def _trimmed(text: Text, edges: Offsets) -> tuple[Offsets, Offsets]:
    starts, ends = edges[:-1].copy(), edges[1:].copy()
    _trim(text, starts, ends)
    return starts, ends


@compiled
def _trim(text: Text, starts: Offsets, ends: Offsets) -> None:
    for k in range(len(starts)):
        start, end = starts[k], ends[k]
        while start < end and text[start] <= 0x20:
            start += 1
        while start < end and text[end - 1] <= 0x20:
            end -= 1
        starts[k], ends[k] = start, end
