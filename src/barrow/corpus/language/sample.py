"""The sample of a text for language identification: words from a few windows.

A text of up to `num_windows` × `window_size` bytes is read whole; of a longer one, windows of that
size, the first at the beginning, the last at the end, the others evenly between, cut where
characters begin. Of a window, what ASCII white space separates is taken

- without the ASCII marks around it, if it is ASCII and has only letters, apostrophes and hyphens
  otherwise: no numbers, links, addresses, paths, formulas or identifiers;
- with a space for every other ASCII character, if it is not all ASCII.

ASCII letters are lower-cased, because the model has seen few words in capitals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]

_SPACE = np.uint8(32)
# The kinds of bytes.
_GAP, _MARK, _INSIDE, _LETTER, _HIGH, _OTHER = 0, 1, 2, 3, 4, 5


class Samples(NamedTuple):
    """The sample of text i is ``text[offsets[i]:offsets[i + 1]]``, words with spaces between.

    `num_letters` are the bytes of its letters (what is not ASCII counts as a letter), `num_seen`
    the bytes of the windows that are not ASCII white space.
    """

    text: Bytes
    offsets: Offsets
    num_letters: npt.NDArray[np.int64]
    num_seen: npt.NDArray[np.int64]


def sample_words(
    text: Bytes, offsets: Offsets, scratch: Scratch, *, num_windows: int, window_size: int
) -> Samples:
    """The samples of texts in one UTF-8 buffer, as in a block."""
    num_texts = len(offsets) - 1
    sizes = np.minimum(np.diff(offsets), num_windows * window_size)
    # A window may grow by its last character, and every word has a space after it.
    room = int(sizes.sum()) + num_texts * num_windows * 8
    out = scratch.take("language-sample", room, np.uint8)
    out_offsets = np.zeros(num_texts + 1, np.int64)
    num_letters, num_seen = np.empty(num_texts, np.int64), np.empty(num_texts, np.int64)
    _sample(
        text, offsets, num_windows, window_size, _KINDS, out, out_offsets, num_letters, num_seen
    )
    return Samples(out, out_offsets, num_letters, num_seen)


def _byte_kinds() -> Bytes:
    kinds = np.full(256, _OTHER, np.uint8)
    kinds[128:] = _HIGH
    for byte in range(33, 127):
        character = chr(byte)
        kinds[byte] = _LETTER if character.isalpha() else _OTHER if character.isdigit() else _MARK
    kinds[[ord("'"), ord("-")]] = _INSIDE
    kinds[[9, 10, 11, 12, 13, 32]] = _GAP
    return kinds


_KINDS = _byte_kinds()


@compiled
def _sample(
    text: Bytes,
    offsets: Offsets,
    num_windows: int,
    window_size: int,
    kinds: Bytes,
    out: Bytes,
    out_offsets: Offsets,
    num_letters: npt.NDArray[np.int64],
    num_seen: npt.NDArray[np.int64],
) -> None:
    num_written = np.uint64(0)
    for document in range(len(offsets) - 1):
        first, size = offsets[document], offsets[document + 1] - offsets[document]
        whole = size <= num_windows * window_size
        letters, seen = np.int64(0), np.int64(0)
        for window in range(1 if whole else num_windows):
            begin, end = first, first + size
            if not whole:
                begin += (size - window_size) * window // max(1, num_windows - 1)
                while begin < end and text[begin] & 0xC0 == 0x80:
                    begin += 1
                end = min(end, begin + window_size)
                while end < first + size and text[end] & 0xC0 == 0x80:
                    end += 1
            num_written, new_letters, new_seen = _take_words(
                text, np.uint64(begin), np.uint64(end), kinds, out, num_written
            )
            letters += new_letters
            seen += new_seen
        num_letters[document], num_seen[document] = letters, seen
        out_offsets[document + 1] = num_written


@compiled
def _take_words(
    text: Bytes,
    at: np.uint64,
    end: np.uint64,
    kinds: Bytes,
    out: Bytes,
    num_written: np.uint64,
) -> tuple[np.uint64, np.int64, np.int64]:
    """Write the words between two places; where writing ended, letters, bytes seen."""
    one = np.uint64(1)
    letters, seen = np.int64(0), np.int64(0)
    while at < end:
        if kinds[text[at]] == _GAP:
            at += one
            continue
        start = at
        has_high, has_other = False, False
        num_letters = np.int64(0)
        # The word inside its marks, and whether there are marks in it.
        inner, inner_end = end, start
        marks_inside = False
        while at < end and kinds[text[at]] != _GAP:
            kind = kinds[text[at]]
            has_high |= kind == _HIGH
            has_other |= kind == _OTHER
            if kind in (_LETTER, _HIGH):
                num_letters += 1
                if inner == end:
                    inner = at
                if inner_end < at and _has_mark(text, max(inner, inner_end), at, kinds):
                    marks_inside = True
                inner_end = at + one
            at += one
        seen += np.int64(at - start)
        if not has_high:
            if has_other or marks_inside or num_letters == 0:
                continue
            start, stop = inner, inner_end
        else:
            stop = at
        letters += num_letters
        for place in range(start, stop):
            byte = text[np.uint64(place)]
            kind = kinds[byte]
            if kind == _LETTER:
                byte |= _SPACE
            elif kind != _HIGH and kind != _INSIDE:
                byte = _SPACE
            out[num_written] = byte
            num_written += one
        out[num_written] = _SPACE
        num_written += one
    return num_written, letters, seen


@compiled
def _has_mark(text: Bytes, at: np.uint64, end: np.uint64, kinds: Bytes) -> bool:
    while at < end:
        if kinds[text[at]] == _MARK:
            return True
        at += np.uint64(1)
    return False
