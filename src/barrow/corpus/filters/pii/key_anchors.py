"""Where keys and tokens may be: long runs of letters and digits, found by skipping bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.byte_kinds import (
    DIGIT,
    IN_KEY,
    LETTER,
    WORD,
    Bytes,
    contains,
    is_kind,
    packed,
)
from barrow.corpus.kernels.jit import compiled

MIN_KEY = 16  # bytes of the shortest key

# The first four bytes of keys with a known prefix.
_KEY_STARTS = packed(
    *(b"AKIA", b"ASIA", b"AIza", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"gith", b"glpa"),
    *(b"xoxb", b"xoxp", b"xoxa", b"xoxr", b"xoxs", b"sk_l", b"rk_l", b"sk-a", b"sk-p", b"npm_"),
    *(b"eyJh", b"eyJ0", b"eyJr", b"eyJj"),
)
_HUGGING_FACE = np.uint32(int.from_bytes(b"hf_", "little"))


@compiled
def find_keys(
    text: Bytes,
    begin: int,
    end: int,
    document: int,
    kind: int,
    first_only: bool,
    found: npt.NDArray[np.int64],
    num: int,
) -> int:
    """Runs of MIN_KEY bytes or more that may be keys; each has a byte at a multiple of it."""
    at = begin
    while at < end:
        if not is_kind(text[at], IN_KEY):
            at += MIN_KEY
            continue
        start = at
        while start > begin and is_kind(text[start - 1], IN_KEY):
            start -= 1
        stop = at + 1
        while stop < end and is_kind(text[stop], IN_KEY):
            stop += 1
        if stop - start >= MIN_KEY and _may_be_key(text, begin, start, stop):
            if num == found.shape[1]:
                return num
            found[0, num], found[1, num] = document, kind
            found[2, num], found[3, num] = start, stop
            num += 1
            if first_only:
                return num
        at += MIN_KEY * ((stop - at) // MIN_KEY + 1)
    return num


@compiled
def _may_be_key(text: Bytes, begin: int, start: int, stop: int) -> bool:
    """Whether a run has a known beginning somewhere, or comes after ``=`` or ``:``."""
    four = np.uint32(0)
    has_digit, has_letter = False, False
    for place in range(start, stop):
        byte = text[place]
        four = four >> np.uint32(8) | np.uint32(byte) << np.uint32(24)
        has_digit = has_digit or is_kind(byte, DIGIT)
        has_letter = has_letter or is_kind(byte, LETTER)
        if place < start + 3 or (place > start + 3 and is_kind(text[place - 4], WORD)):
            continue
        if contains(_KEY_STARTS, four) or four & np.uint32(0xFFFFFF) == _HUGGING_FACE:
            return True
    if not has_digit or not has_letter:
        return False
    place = start - 1
    while place >= begin and start - place <= 4 and text[place] in (32, 34, 39, 96):
        place -= 1
    return bool(place > begin and text[place] in (58, 61, 62))
