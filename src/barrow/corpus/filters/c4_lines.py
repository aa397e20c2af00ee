"""C4's line rules: keeps lines that are sentences, without citation marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.filter import Rewriter, Rewritten
from barrow.corpus.filters.statistics.characters import (
    BREAK,
    DIGIT,
    SPACE,
    Classes,
    character_classes,
)
from barrow.corpus.filters.statistics.phrases import Phrases, has_phrase, prepare
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.utf8 import code_at, code_size
from barrow.corpus.kernels.word_hashes import Offsets, eight_byte_view
from barrow.errors import ConfigError

# Decisions about a line, in the order of the checks.
_KEPT, _LONG_WORD, _NO_END_MARK, _FEW_WORDS, _PHRASE = range(5)
_FOUND = ("c4-long-word", "c4-no-end-mark", "c4-few-words", "c4-phrase")
_DOT, _OPEN, _CLOSE = 0x2E, 0x5B, 0x5D
_NAMED = np.frombuffer(b"[edit][citation needed]", np.uint8)


@dataclass(frozen=True)
class C4Lines(Rewriter):
    """C4's line rules: drops lines that are not sentences, or that have banned phrases.

    Lines are those of ``str.splitlines()``, stripped. Kept are lines that

    - have no word of more than `max_word_length` characters,
    - end with one of `end_marks` (any end if there are none), but not with ``...``,
    - have at least `min_words` words, and
    - have none of the `phrases` in them, whatever the case.

    Citation marks are removed first: ``[1]``, ``[]``, ``[edit]``, ``[citation needed]``.
    Defaults: Raffel et al. 2020, https://jmlr.org/papers/v21/20-074.html, and its code.
    """

    max_word_length: int | None = 1000
    end_marks: str = ".?!\"'"
    min_words: int = 3
    phrases: tuple[str, ...] = (
        "javascript",
        "terms of use",
        "privacy policy",
        "cookie policy",
        "uses cookies",
        "use of cookies",
        "use cookies",
    )
    citations: bool = False

    def __post_init__(self) -> None:
        if not self.end_marks.isascii():
            raise ConfigError(f"end_marks must be ASCII characters, got {self.end_marks!r}")
        prepare(self.phrases)

    def touches(self, texts: Texts) -> npt.NDArray[np.bool_]:
        touched = np.empty(len(texts), np.bool_)
        room = texts.scratch.take("c4-lines", int(texts.sizes.max(initial=0)) + 1, np.uint8)
        _touch(texts.text, texts.offsets, self._rules(room), touched)
        return touched

    def rewrite(self, text: str, meta: Mapping[str, Any]) -> Rewritten:  # noqa: ARG002
        data = np.frombuffer(text.encode(), np.uint8)
        room = np.empty(len(data) + 1, np.uint8)
        counts = np.zeros(len(_FOUND) + 1, np.int64)
        size = _clean(data, self._rules(room), counts)
        found = {name: int(n) for name, n in zip(_FOUND, counts[1:], strict=True) if n}
        return Rewritten(room[:size].tobytes().decode().strip(), found)

    def _rules(self, room: npt.NDArray[np.uint8]) -> _Rules:
        return _Rules(
            -1 if self.max_word_length is None else self.max_word_length,
            np.frombuffer(self.end_marks.encode(), np.uint8),
            self.min_words,
            prepare(self.phrases),
            self.citations,
            character_classes(),
            room,
            eight_byte_view(room),
        )


class _Rules(NamedTuple):
    """The settings, compiled, and a buffer for the lines of a text."""

    max_word_length: int
    end_marks: npt.NDArray[np.uint8]
    min_words: int
    phrases: Phrases
    citations: bool
    classes: Classes
    room: npt.NDArray[np.uint8]
    room_eights: npt.NDArray[np.uint64]


@compiled
def _touch(
    text: npt.NDArray[np.uint8],
    offsets: Offsets,
    rules: _Rules,
    touched: npt.NDArray[np.bool_],
) -> None:
    """Whether anything but a newline between two lines would change, up to the first change."""
    for document in range(len(offsets) - 1):
        at, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        touched[document] = False
        while at < end and not touched[document]:
            stop, after, start, last, num_words, longest = _measure(text, at, end, rules.classes)
            fate, size = _judge(text, start, last, num_words, longest, rules, np.uint64(0))
            touched[document] = (
                fate != _KEPT
                or size != stop - at
                or (size == 0 and at == np.uint64(offsets[document]))
                or (after > stop and (text[stop] != 0x0A or after == end))
            )
            at = after


@compiled
def _clean(
    text: npt.NDArray[np.uint8],
    rules: _Rules,
    counts: npt.NDArray[np.int64],
) -> np.uint64:
    """Write the kept lines to `room`, with newlines between them; returns the bytes."""
    at, end, size = np.uint64(0), np.uint64(len(text)), np.uint64(0)
    room = rules.room
    while at < end:
        _, after, start, last, num_words, longest = _measure(text, at, end, rules.classes)
        # A newline before it, which is overwritten if the line is dropped.
        begin = size
        if size > 0:
            room[size] = 0x0A
            begin += np.uint64(1)
        fate, new_size = _judge(text, start, last, num_words, longest, rules, begin)
        counts[fate] += 1
        if fate == _KEPT:
            size = new_size
        at = after
    return size


@compiled
def _measure(
    text: npt.NDArray[np.uint8], first: np.uint64, end: np.uint64, classes: Classes
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.int64, np.int64]:
    """Of a line: its end and terminator; first and last word; words; the longest."""
    at = start = last = first
    num_words = longest = length = np.int64(0)
    while at < end:
        byte = text[at]
        flags = classes[byte] if byte < 0x80 else classes[code_at(text, at)]
        if flags & SPACE:
            if flags & BREAK:
                break
            length = np.int64(0)
            at += code_size(byte)
            continue
        if length == 0:
            if num_words == 0:
                start = at
            num_words += 1
        length += 1
        longest = max(longest, length)
        at += code_size(byte)
        last = at
    after = at
    if at < end:
        after += code_size(text[at])
        if text[at] == 0x0D and after < end and text[after] == 0x0A:
            after += np.uint64(1)
    return at, after, start, last, num_words, longest


@compiled
def _judge(
    text: npt.NDArray[np.uint8],
    start: np.uint64,
    last: np.uint64,
    num_words: np.int64,
    longest: np.int64,
    rules: _Rules,
    begin: np.uint64,
) -> tuple[int, np.uint64]:
    """The decision about ``text[start:last]``, written to `room`, and its end there."""
    one = np.uint64(1)
    room, end_marks = rules.room, rules.end_marks
    if rules.max_word_length >= 0 and longest > rules.max_word_length:
        return _LONG_WORD, begin
    size = begin
    while start < last:
        byte = text[start]
        if byte == _OPEN and not rules.citations:
            after = _after_citation(text, start, last, rules.classes)
            if after > start:
                start = after
                continue
        room[size] = byte
        size += one
        start += one
    if len(end_marks):
        ends = False
        for mark in end_marks:
            ends |= bool(size > begin and room[size - one] == mark)
        num_dots = np.uint64(0)
        while num_dots < min(np.uint64(3), size - begin) and room[size - one - num_dots] == _DOT:
            num_dots += one
        if not ends or num_dots == 3:
            return _NO_END_MARK, begin
    if num_words < rules.min_words:
        return _FEW_WORDS, begin
    if has_phrase(room, rules.room_eights, begin, size, rules.phrases):
        return _PHRASE, begin
    return _KEPT, size


@compiled
def _after_citation(
    text: npt.NDArray[np.uint8], at: np.uint64, end: np.uint64, classes: Classes
) -> np.uint64:
    """Where a citation mark that begins here ends; the same place if there is none."""
    one = np.uint64(1)
    first = at
    at += one
    while at < end and classes[code_at(text, at)] & DIGIT:
        at += code_size(text[at])
    if at < end and text[at] == _CLOSE:
        return at + one
    for begin, size in ((0, 6), (6, 17)):
        if first + np.uint64(size) <= end:
            same = 0
            while same < size and text[first + np.uint64(same)] == _NAMED[begin + same]:
                same += 1
            if same == size:
                return first + np.uint64(size)
    return first
