"""Fast search for short lines that begin with one of some word pairs.

Also found are lines with a © at the beginning, with ``reserved`` at the end, or with three or more
marks of navigation bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import eight_byte_view, finish_hash

MAX_LINE = 300  # bytes; longer lines are paragraphs

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]

_SLOTS = 1 << 16
_START, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x9E3779B97F4A7C15)
_HIGH = np.uint64(0x8080808080808080)
_ENDS = np.uint64(0x0A0A0A0A0A0A0A0A)
_BARS = np.uint64(0x7C7C7C7C7C7C7C7C)
_RESERVED = np.frombuffer(b"reserved", np.uint8)


def line_keys(beginnings: Sequence[str]) -> Bytes:
    """A table for beginnings of one or two words; one word is the whole line."""
    table = np.zeros(_SLOTS, np.uint8)
    for beginning in beginnings:
        data = np.frombuffer(beginning.encode(), np.uint8)
        table[int(_key(data, 0, len(data)))] = 1
    return table


def find_lines(
    text: Bytes, offsets: Offsets, keys: Bytes, scratch: Scratch
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Starts and stops of the lines, without their ends."""
    size = 256 + int(offsets[-1] - offsets[0]) // 256
    while True:
        found = scratch.take("boilerplate-lines", 3 * size, np.int64).reshape(3, size)
        num = int(_scan(text, eight_byte_view(text), offsets, keys, False, found))
        if num < size:
            return found[1, :num].copy(), found[2, :num].copy()
        size *= 8


def have_lines(text: Bytes, offsets: Offsets, keys: Bytes) -> npt.NDArray[np.bool_]:
    """Which texts have such lines."""
    found = np.empty((3, len(offsets)), np.int64)
    num = int(_scan(text, eight_byte_view(text), offsets, keys, True, found))
    touched = np.zeros(len(offsets) - 1, np.bool_)
    touched[found[0, :num]] = True
    return touched


@compiled
def _key(text: Bytes, start: Any, stop: Any) -> np.uint64:
    """The place in the table of a line's first two words."""
    value = _START
    num_words = 0
    inside = False
    for at in range(start, stop):
        byte = text[at]
        folded = byte | 32
        if 97 <= folded <= 122 or 48 <= byte <= 57:
            if not inside:
                value = (value ^ np.uint64(32)) * _PRIME
                num_words += 1
            inside = True
            value = (value ^ np.uint64(folded)) * _PRIME
        elif inside:
            inside = False
            if num_words == 2:
                break
    return finish_hash(value) & np.uint64(_SLOTS - 1)


@compiled
def _is_mark(text: Bytes, at: np.int64, begin: int) -> bool:
    """At the last byte of › » · •."""
    byte = text[at]
    if at - 1 < begin:
        return False
    if text[at - 1] == 0xC2:
        return bool(byte == 0xBB or byte == 0xB7)
    return bool(
        text[at - 1] == 0x80
        and (byte == 0xBA or byte == 0xA2)
        and at - 2 >= begin
        and text[at - 2] == 0xE2
    )


@compiled
def _worth(text: Bytes, start: int, stop: np.int64, num_marks: int, keys: Bytes) -> bool:
    if num_marks >= 3:
        return True
    while start < stop and text[start] <= 32:
        start += 1
    if stop - start < 3:
        return False
    if (text[start] == 0xC2 and text[start + 1] == 0xA9) or text[start] == 40:
        return True
    if keys[_key(text, start, stop)]:
        return True
    if text[start] | 32 == 99 and text[start + 1] | 32 == 111 and text[start + 2] | 32 == 112:
        return True  # copyright
    while stop > start and not 97 <= text[stop - 1] | 32 <= 122:
        stop -= 1
    if stop - start < 8:
        return False
    for k in range(8):  # noqa: SIM110
        if text[stop - 8 + k] | 32 != _RESERVED[k]:
            return False
    return True


@compiled
def _scan(
    text: Bytes,
    eights: npt.NDArray[np.uint64],
    offsets: Offsets,
    keys: Bytes,
    first_only: bool,
    found: npt.NDArray[np.int64],
) -> int:
    """Fill `found` with documents, starts and stops; how many, or the width if it is full."""
    num = 0
    one, eight = np.uint64(1), np.uint64(8)
    for document in range(len(offsets) - 1):
        begin, end = offsets[document], offsets[document + 1]
        at, stop = np.uint64(begin), np.uint64(end)
        last = np.uint64(max(begin, min(end, len(eights)) - 8))
        start = begin
        num_marks = 0
        while at <= stop:
            if at < last:
                chunk = eights[at]
                if chunk & _HIGH == 0:
                    # Bytes that are neither a line end nor a bar keep the highest bit.
                    others = ((chunk ^ _ENDS) + ~_HIGH) & ((chunk ^ _BARS) + ~_HIGH)
                    if others & _HIGH == _HIGH:
                        at += eight
                        continue
            place = np.int64(at)
            at += one
            if place < end and text[place] != 10:
                byte = text[place]
                if byte == 124 or (byte >= 0x80 and _is_mark(text, place, begin)):
                    num_marks += 1
                continue
            if place - start <= MAX_LINE and _worth(text, start, place, num_marks, keys):
                if num == found.shape[1]:
                    return num
                found[0, num], found[1, num], found[2, num] = document, start, place
                num += 1
                if first_only:
                    break
            start = place + 1
            num_marks = 0
    return num
