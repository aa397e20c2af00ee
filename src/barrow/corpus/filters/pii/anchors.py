"""A scan for rare bytes that gives the windows in which personal data may be.

Every category has something that a fast scan finds. A mail address has an ``@``; IP addresses,
phone, card, bank and social security numbers have digits in groups of certain sizes; keys are long
runs of letters and digits with a known beginning, or after ``=`` or ``:``. The scan must only miss
nothing: the checks in the files named after the categories decide about each window.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.pii.key_anchors import find_keys
from barrow.corpus.kernels.byte_kinds import (
    BETWEEN,
    DIGIT,
    LETTER,
    LOCAL,
    WORD,
    Bytes,
    contains,
    is_kind,
    packed,
)
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import eight_byte_view

Offsets = npt.NDArray[np.int64]
_Window = tuple[int, Any, Any]  # kind or -1, start, stop

# Kinds of windows.
MAIL, IPV4, IPV6, NUMBER, IBAN, KEY, KEY_BLOCK = range(7)

_MAX_LOCAL, _MAX_DOMAIN = 64, 253
_MAX_GROUPS = 8
_NARROW, _WIDE = 7, 19  # digits in the numbers searched for


class Windows(NamedTuple):
    """Window k is ``text[starts[k]:stops[k]]``, of kind `kinds[k]`, in document `documents[k]`."""

    documents: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]


def find_windows(text: Bytes, offsets: Offsets, scratch: Scratch) -> Windows:
    """All windows of texts in one buffer, by document and start."""
    size = 1024 + int(offsets[-1] - offsets[0]) // 256
    while True:
        found = scratch.take("pii-windows", 4 * size, np.int64).reshape(4, size)
        num = int(_scan(text, eight_byte_view(text), offsets, False, found))
        if num < size:
            break
        size *= 8
    windows = found[:, :num].copy()
    windows = windows[:, np.lexsort((windows[1], windows[2]))]
    return Windows(*windows)


def have_windows(text: Bytes, offsets: Offsets) -> npt.NDArray[np.bool_]:
    """Which texts have a window at all."""
    found = np.empty((4, len(offsets)), np.int64)
    num = int(_scan(text, eight_byte_view(text), offsets, True, found))
    touched = np.zeros(len(offsets) - 1, np.bool_)
    touched[found[0, :num]] = True
    return touched


# The last three letters of words after which a number may be a phone, account or security number.
_LABEL_ENDS = packed(
    *(b"tel", b"one", b"fax", b"all", b"ile", b"ell", b"mob", b"app", b"sms", b"ber", b"ph", b"no"),
    *(b"ssn", b"aba", b"rtn", b"ing", b"ity", b"unt", b"cct", b"at", b"us", b"is"),
)

_ONE, _SEVEN, _EIGHT = np.uint64(1), np.uint64(7), np.uint64(8)
_HIGH = np.uint64(0x8080808080808080)
_LOW = np.uint64(0x0101010101010101)
_FROM_0, _AFTER_9 = np.uint64(0x5050505050505050), np.uint64(0x4646464646464646)
_ATS, _GS = np.uint64(0x4040404040404040), np.uint64(0x4747474747474747)


@compiled
def _scan(
    text: Bytes,
    eights: npt.NDArray[np.uint64],
    offsets: Offsets,
    first_only: bool,
    found: npt.NDArray[np.int64],
) -> int:
    """Fill `found` with documents, kinds, starts and stops; returns how many, or its width if full.

    With `first_only`, one for each document that has any.
    """
    num = 0
    width = found.shape[1]
    work = np.empty((2, _MAX_GROUPS + 1), np.int64)
    for document in range(len(offsets) - 1):
        begin, end = offsets[document], offsets[document + 1]
        before = num
        at = np.uint64(begin)
        last = np.uint64(max(begin, min(end, len(eights)) - 8))
        stop = np.uint64(end)
        while at < stop:
            if at < last:
                chunk = eights[at]
                low = chunk & ~_HIGH
                digits = (low + _FROM_0) & ~(low + _AFTER_9)
                # Bytes other than digits, @ or G leave no bit; bytes over 127 never do.
                ats = (low ^ _ATS) + ~_HIGH
                gs = (low ^ _GS) + ~_HIGH
                if (digits | ~ats | ~gs) & ~chunk & _HIGH == 0:
                    at += _EIGHT
                    continue
            place = np.int64(at)
            byte = text[at]
            at += _ONE
            if is_kind(byte, DIGIT):
                kind, first, final = _digits(text, begin, end, place, work)
                while at < stop and is_kind(text[at], DIGIT):
                    at += _ONE
            elif byte == 64:
                kind, first, final = _mail(text, begin, end, place)
            elif byte == 71:
                kind, first, final = _key_block(text, begin, end, place)
            else:
                continue
            if kind >= 0:
                if num == width:
                    return num
                found[0, num], found[1, num] = document, kind
                found[2, num], found[3, num] = first, final
                num += 1
                if first_only:
                    break
        if not first_only or num == before:
            num = find_keys(text, begin, end, document, KEY, first_only, found, num)
            if num == width:
                return num
    return num


@compiled
def _mail(text: Bytes, begin: int, end: int, at: np.int64) -> _Window:
    """Around an @: the local part before it, and after it names with a dot between."""
    if at == begin or at + 4 > end or not is_kind(text[at + 1], WORD):
        return -1, 0, 0
    start = at
    while start > begin and at - start < _MAX_LOCAL and is_kind(text[start - 1], WORD | LOCAL):
        start -= 1
    stop = at + 1
    dots = False
    while stop < end and stop - at <= _MAX_DOMAIN:
        byte = text[stop]
        if byte == 46:
            dots = bool(dots or (stop + 2 < end and is_kind(text[stop + 1], WORD)))
        elif byte != 45 and not is_kind(byte, WORD):
            break
        stop += 1
    return (MAIL if dots and start < at else -1), start, stop


@compiled
def _key_block(text: Bytes, begin: int, end: int, at: np.int64) -> _Window:
    """At the G of ``-----BEGIN``."""
    if at - begin < 7 or text[at - 1] != 69 or text[at - 2] != 66 or at + 1 >= end:
        return -1, 0, 0
    for k in range(5):
        if text[at - 3 - k] != 45:
            return -1, 0, 0
    return KEY_BLOCK, at - 7, at + 1


@compiled
def _digits(
    text: Bytes, begin: int, end: int, at: np.int64, work: npt.NDArray[np.int64]
) -> _Window:
    """From the first of some digits: an IBAN, an IP address, or a number to check."""
    sizes, between = work[0], work[1]
    if at > begin and is_kind(text[at - 1], WORD):
        return _iban(text, begin, end, at)
    if (
        at > begin
        and text[at - 1] in (95, 46, 44)
        and at - 1 > begin
        and is_kind(text[at - 2], WORD)
    ):
        return -1, 0, 0
    if at - 1 > begin and text[at - 1] == 45 and is_kind(text[at - 2], DIGIT):
        return -1, 0, 0
    stop = _walk(text, end, at, sizes, between)
    if stop < 0:
        return _ipv6(text, end, at)
    num_groups = 1
    total = sizes[0]
    while sizes[num_groups] > 0:
        total += sizes[num_groups]
        num_groups += 1
    dotted = num_groups >= 4 and between[0] == 46 and between[1] == 46 and between[2] == 46
    longest = max(sizes[0], sizes[1], sizes[2], sizes[3])
    if dotted and longest <= 3 and not (num_groups > 4 and between[3] == 46):
        return IPV4, at, at + sizes[0] + sizes[1] + sizes[2] + sizes[3] + 3
    if total < _NARROW:
        if num_groups == 1 and sizes[0] == 4:
            return _ipv6(text, end, at)
        return -1, 0, 0
    start = at
    if at > begin and text[at - 1] == 40:
        start -= 1
    plus = start > begin and text[start - 1] == 43
    if plus:
        start -= 1
    if plus or _shape(text, at, sizes, between, num_groups, total):
        return NUMBER, start, stop
    if sizes[0] >= 2 and between[0] != 46 and _labelled(text, begin, start):
        return NUMBER, start, stop
    return -1, 0, 0


@compiled
def _walk(
    text: Bytes,
    end: int,
    at: np.int64,
    sizes: npt.NDArray[np.int64],
    between: npt.NDArray[np.int64],
) -> Any:
    """Sizes of groups of digits and the marks between them; where they end; -1 in a word."""
    for k in range(_MAX_GROUPS + 1):
        sizes[k] = 0
        between[k] = 0
    group = 0
    place = at
    while True:
        start = place
        while place < end and is_kind(text[place], DIGIT):
            place += 1
            if place - start > _WIDE:
                return -1
        sizes[group] = place - start
        stop = place
        if place < end and (is_kind(text[place], LETTER) or text[place] == 95):
            return -1 if group == 0 else stop
        group += 1
        if group == _MAX_GROUPS:
            return stop
        if place + 1 < end and is_kind(text[place], BETWEEN):
            between[group - 1] = text[place]
            place += 1
            # Two marks only if one is a bracket: (0) 20, +44 (20).
            if text[place] == 40 or (text[place - 1] == 41 and is_kind(text[place], BETWEEN)):
                between[group - 1] = 41
                place += 1
            if place < end and is_kind(text[place], DIGIT):
                continue
        return stop


@compiled
def _shape(
    text: Bytes,
    at: np.int64,
    sizes: npt.NDArray[np.int64],
    between: npt.NDArray[np.int64],
    num_groups: int,
    total: int,
) -> bool:
    """Whether groups of digits are those of a phone, card or social security number."""
    a, b, c, d = sizes[0], sizes[1], sizes[2], sizes[3]
    if a == 3 and b == 3 and c == 4:
        return True
    if a == 1 and b == 3 and c == 3 and d == 4:
        return bool(text[at] == 49)
    if a == 3 and b == 2 and c == 4:
        return bool(between[0] == 45 and between[1] == 45)
    if num_groups == 1:
        return bool(a >= 15)
    if a == 4:
        if b == 4 and c == 4 and d == 4:
            return True
        if b == 6 and (c == 5 or c == 4):
            return True
    if text[at] == 48 and a >= 2 and total >= 9:
        if between[0] == 46:
            return bool(a == 2 and b == 2 and c == 2 and d == 2 and sizes[4] == 2)
        return True
    return False


@compiled
def _labelled(text: Bytes, begin: int, at: np.int64) -> bool:
    """Whether the word before may be a label."""
    place = at - 1
    while place >= begin and at - place < 8 and not is_kind(text[place], WORD):
        place -= 1
    if place < begin or not is_kind(text[place], LETTER):
        return False
    ending = np.uint32(0)
    num = 0
    while num < 3 and place >= begin and is_kind(text[place], LETTER):
        ending = ending << np.uint32(8) | np.uint32(text[place] | 32)
        place -= 1
        num += 1
    return contains(_LABEL_ENDS, ending)


@compiled
def _ipv6(text: Bytes, end: int, at: np.int64) -> _Window:
    """Global addresses begin with 2 or 3 and have four digits in the first group."""
    if (text[at] != 50 and text[at] != 51) or at + 7 > end or text[at + 4] != 58:
        return -1, 0, 0
    stop = at
    colons = 0
    while stop < end and stop - at < 48:
        byte = text[stop]
        if byte == 58:
            colons += 1
        elif not (is_kind(byte, DIGIT) or 97 <= byte | 32 <= 102 or byte == 46):
            break
        stop += 1
    return (IPV6 if colons >= 3 or (colons == 2 and stop - at > 6) else -1), at, stop


@compiled
def _iban(text: Bytes, begin: int, end: int, at: np.int64) -> _Window:
    """Two capitals, two digits, then letters and digits, together or in fours."""
    if (
        at - 2 < begin
        or at + 11 > end
        or not (65 <= text[at - 1] <= 90 and 65 <= text[at - 2] <= 90)
    ):
        return -1, 0, 0
    if not is_kind(text[at + 1], DIGIT) or (at - 3 >= begin and is_kind(text[at - 3], WORD)):
        return -1, 0, 0
    stop = at + 2
    num = 4
    while stop < end and num < 34:
        if is_kind(text[stop], WORD):
            num += 1
        elif not (text[stop] == 32 and num % 4 == 0 and stop + 1 < end):
            break
        stop += 1
    return (IBAN if num >= 15 else -1), at - 2, stop
