"""Lines and paragraphs: how many, how they begin and end, and which are repeated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.statistics.characters import (
    BREAK,
    SPACE,
    TERMINAL,
    CharacterCounts,
    Classes,
    Counts,
    character_classes,
    class_before,
    num_characters,
)
from barrow.corpus.kernels.byte_hashes import START, bytes_at, finish, hash_bytes, mix
from barrow.corpus.kernels.jit import compiled, trailing_zeros
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.utf8 import code_at, code_size
from barrow.corpus.kernels.word_hashes import Hashes, Offsets, eight_byte_view

_HIGH = np.uint64(0x8080808080808080)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_NEWLINE = np.uint64(0x0A0A0A0A0A0A0A0A)
_HYPHEN, _BULLET = 0x2D, 0x2022


class Lines(NamedTuple):
    r"""Counts for each text. Lines are stripped, unless noted.

    - `lines`, those of ``str.splitlines()``; of these `bullet_lines` begin with ``-`` or ``•``,
      and `ellipsis_lines` end with ``...`` or ``…``.
    - `parts`, those of ``re.split("\n+", text)``; of these `repeated_parts` came before, with
      `repeated_characters`, of which `repeated_blank_characters` in parts of white space.
    - `filled_lines`, those of ``text.split("\n")`` that are not white space; of these
      `terminal_lines` have a mark that ends a sentence as their very last character. The lengths
      of the filled lines of text i are ``lengths[offsets[i]:offsets[i + 1]]``.
    - `paragraphs`, those of ``re.split("\n{2,}", text.strip())``; of these
      `repeated_paragraphs` came before, with `repeated_paragraph_characters`.
    """

    lengths: npt.NDArray[np.uint32]
    offsets: Offsets
    lines: Counts
    bullet_lines: Counts
    ellipsis_lines: Counts
    parts: Counts
    repeated_parts: Counts
    repeated_characters: Counts
    repeated_blank_characters: Counts
    filled_lines: Counts
    terminal_lines: Counts
    paragraphs: Counts
    repeated_paragraphs: Counts
    repeated_paragraph_characters: Counts


def line_counts(
    text: npt.NDArray[np.uint8], offsets: Offsets, counted: CharacterCounts, scratch: Scratch
) -> Lines:
    """The counts of texts in one UTF-8 buffer; valid until the scratch is used again."""
    newlines = counted.newlines
    most = int(newlines.max(initial=0)) + 1
    lengths = scratch.take("line-lengths", int(newlines.sum()) + len(offsets), np.uint32)
    line_offsets = np.zeros(len(offsets), np.int64)
    counts = np.empty((12, len(offsets) - 1), np.int64)
    _count(
        text,
        eight_byte_view(text),
        offsets,
        newlines,
        counted.other_breaks,
        character_classes(),
        scratch.take("line-table", 1 << (2 * most + 2).bit_length(), np.uint64),
        scratch.take("paragraph-table", 1 << (most + 4).bit_length(), np.uint64),
        lengths,
        line_offsets,
        counts,
    )
    return Lines(lengths[: line_offsets[-1]], line_offsets, *counts)


@compiled
def _hash_line(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    first: np.uint64,
    end: np.uint64,
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The hash of a line, as `hash_bytes`; its end; nonzero if it is not ASCII."""
    eight = np.uint64(8)
    value, at, high = START, first, np.uint64(0)
    num_eights = np.uint64(len(eights))
    while True:
        chunk = eights[at] if at < num_eights else bytes_at(text, eights, at)
        other = chunk ^ _NEWLINE
        found = ~(((other & _SEVENS) + _SEVENS) | other) & _HIGH
        if found == 0 and at + eight <= end:
            value = mix(value, chunk)
            high |= chunk
            at += eight
            continue
        size = end - at
        if found:
            size = min(size, np.uint64(trailing_zeros(found)) >> np.uint64(3))
        kept = chunk & ((np.uint64(1) << size * eight) - np.uint64(1))
        return finish(mix(value, kept), at + size - first), at + size, (high | kept) & _HIGH


@compiled
def _add(value: np.uint64, table: Hashes, mask: np.uint64) -> bool:
    """Add a nonzero hash to a table; returns whether it was there."""
    place = value & mask
    while table[place] != 0:
        if table[place] == value:
            return True
        place = (place + np.uint64(1)) & mask
    table[place] = value
    return False


@compiled
def _clear(table: Hashes, num_parts: np.uint64) -> np.uint64:
    """Clear as much of a table as so many parts need; returns the mask for hashes."""
    size = np.uint64(4)
    while size < np.uint64(2) * num_parts:
        size <<= np.uint64(1)
    table[:size] = 0
    return size - np.uint64(1)


@compiled
def _count(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    offsets: Offsets,
    newlines: Counts,
    other_breaks: Counts,
    classes: Classes,
    line_table: Hashes,
    paragraph_table: Hashes,
    lengths: npt.NDArray[np.uint32],
    line_offsets: Offsets,
    counts: npt.NDArray[np.int64],
) -> None:
    """Lines one by one; a paragraph's hash is computed from those of its lines."""
    one = np.uint64(1)
    number = np.uint64(0)
    for document in range(len(offsets) - 1):
        first, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        line_mask = _clear(line_table, np.uint64(newlines[document]) + one)
        paragraph_mask = _clear(
            paragraph_table, np.uint64(newlines[document]) // np.uint64(2) + one
        )
        begin, finis = _stripped(text, first, end, classes)
        lines = bullets = ellipses = np.int64(0)
        parts = repeated = characters = blank = terminals = np.int64(0)
        paragraphs = repeated_paragraphs = paragraph_characters = np.int64(0)
        paragraph, paragraph_start, paragraph_end = START, begin, begin
        at = first
        while at < end:
            value, stop, high = _hash_line(text, eights, at, end)
            lines += 1
            start, after = at, stop
            if stop > at:
                parts += 1
                size = num_characters(text, at, stop) if high else np.int64(stop - at)
                again = _add(value, line_table, line_mask)
                if again:
                    repeated += 1
                    characters += size
                if text[at] <= 0x20 or text[at] >= 0x80:
                    start = _skip_spaces(text, at, stop, classes)
                if start == stop:
                    blank += size if again else 0
                else:
                    lengths[number] = size
                    number += one
                    last = text[stop - one]
                    if last <= 0x20 or last >= 0x80:
                        terminals += (class_before(text, at, stop, classes) & TERMINAL) != 0
                        after = _drop_spaces(text, start, stop, classes)
                    else:
                        terminals += (last == 0x2E) | (last == 0x21) | (last == 0x3F)
                        terminals += last == 0x7C and _is_danda(text, start, stop)
                    bullets += _is_bullet(text, start)
                    ellipses += _is_ellipsis(text, start, after)
                start, after = max(at, begin), min(stop, finis)
                if start < after:
                    if start != at or after != stop:
                        value = hash_bytes(text, eights, start, after)
                    if paragraph == START:
                        paragraph_start = start
                    paragraph = mix(paragraph, value)
                    paragraph_end = after
            if paragraph != START and (stop == at or stop + one >= end):
                paragraphs += 1
                if _add(paragraph | one, paragraph_table, paragraph_mask):
                    repeated_paragraphs += 1
                    paragraph_characters += num_characters(text, paragraph_start, paragraph_end)
                paragraph = START
            at = stop + one
        if other_breaks[document]:
            lines, bullets, ellipses = _split_lines(text, first, end, classes)
        # A text that begins or ends with newlines has an empty part there.
        begins = end == first or text[first] == 0x0A
        ends = end > first and text[end - one] == 0x0A
        parts += np.int64(begins) + np.int64(ends)
        repeated += begins and ends
        line_offsets[document + 1] = number
        counts[0, document], counts[1, document], counts[2, document] = lines, bullets, ellipses
        counts[3, document], counts[4, document] = parts, repeated
        counts[5, document], counts[6, document] = characters, blank
        counts[7, document] = line_offsets[document + 1] - line_offsets[document]
        counts[8, document], counts[9, document] = terminals, max(paragraphs, np.int64(1))
        counts[10, document], counts[11, document] = repeated_paragraphs, paragraph_characters


@compiled
def _split_lines(
    text: npt.NDArray[np.uint8], first: np.uint64, end: np.uint64, classes: Classes
) -> tuple[np.int64, np.int64, np.int64]:
    """Lines, and those with a bullet and with an ellipsis, where not only newlines end lines."""
    lines = bullets = ellipses = np.int64(0)
    at = first
    while at < end:
        stop = at
        size = np.uint64(0)  # of what ends the line
        while stop < end:
            if classes[code_at(text, stop)] & BREAK:
                size = code_size(text[stop])
                after = stop + size
                if text[stop] == 0x0D and after < end and text[after] == 0x0A:
                    size += np.uint64(1)
                break
            stop += code_size(text[stop])
        lines += 1
        start = _skip_spaces(text, at, stop, classes)
        if start < stop:
            bullets += _is_bullet(text, start)
            ellipses += _is_ellipsis(text, start, _drop_spaces(text, start, stop, classes))
        at = stop + size
    return lines, bullets, ellipses


@compiled
def _is_danda(text: npt.NDArray[np.uint8], first: np.uint64, end: np.uint64) -> bool:
    """Whether the vertical bar that ends a line was typed for a danda, the full stop of Hindi.

    It follows a character of the scripts for which Unicode's Script_Extensions list the danda
    (U+0900 to U+0DFF), and the line is not a row of a table.
    """
    one, three = np.uint64(1), np.uint64(3)
    end -= one
    while end > first and text[end - one] == 0x20:
        end -= one
    if text[first] == 0x7C or end < first + three:
        return False
    return bool(text[end - three] == 0xE0 and 0xA4 <= text[end - np.uint64(2)] < 0xB8)


@compiled
def _is_bullet(text: npt.NDArray[np.uint8], at: np.uint64) -> bool:
    code = code_at(text, at)
    return code in (_HYPHEN, _BULLET)


@compiled
def _is_ellipsis(text: npt.NDArray[np.uint8], first: np.uint64, end: np.uint64) -> bool:
    """Whether a line ends with one."""
    if end - first < np.uint64(3):
        return False
    a, b = text[end - np.uint64(3)], text[end - np.uint64(2)]
    c = text[end - np.uint64(1)]
    dots = c == 0x2E and b == 0x2E and a == 0x2E
    return bool(dots or (a == 0xE2 and b == 0x80 and c == 0xA6))


@compiled
def _skip_spaces(
    text: npt.NDArray[np.uint8], first: np.uint64, end: np.uint64, classes: Classes
) -> np.uint64:
    """Where white space ends."""
    while first < end and classes[code_at(text, first)] & SPACE:
        first += code_size(text[first])
    return first


@compiled
def _drop_spaces(
    text: npt.NDArray[np.uint8], first: np.uint64, end: np.uint64, classes: Classes
) -> np.uint64:
    """Where the white space at the end begins."""
    while end > first and class_before(text, first, end, classes) & SPACE:
        end -= np.uint64(1)
        while text[end] & 0xC0 == 0x80:
            end -= np.uint64(1)
    return end


@compiled
def _stripped(
    text: npt.NDArray[np.uint8], first: np.uint64, end: np.uint64, classes: Classes
) -> tuple[np.uint64, np.uint64]:
    """The bounds of a text without the white space at both ends."""
    first = _skip_spaces(text, first, end, classes)
    return first, _drop_spaces(text, first, end, classes)
