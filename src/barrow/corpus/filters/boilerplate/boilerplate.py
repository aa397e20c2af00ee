"""Lines of web pages that are not part of the article.

Only whole, short lines are dropped: those that begin with a phrase of
`barrow.corpus.filters.boilerplate.phrases` and have few more words, copyright lines, and navigation
bars. A sentence about cookies, or one that ends with "read more", stays. Lines that look like
source code (comment marks, brackets, indented) stay too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.boilerplate.line_starts import find_lines, have_lines, line_keys
from barrow.corpus.filters.boilerplate.phrases import PHRASES, Phrase
from barrow.corpus.filters.filter import Rewriter, Rewritten
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.errors import ConfigError

RULES = (*dict.fromkeys(phrase.rule for phrase in PHRASES), "copyright", "navigation")

_WORDS = re.compile(rb"[a-z0-9]+")
# Comment marks, quotes, numbered items and indented code at the beginning, brackets anywhere.
_NOT_PROSE = re.compile(
    rb"\s*(?:\xef\xbb\xbf)?(?:#|//|/\*|\*|--|;|%|<!--|>|\d+[.)]\s)|\t|    |[^{}=;_\\]*[{}=;_\\]"
)
_RIGHTS = re.compile(
    rb"(?:copyright|\(c\)|\xc2\xa9|all rights reserved)|"
    rb".{0,120}(?:copyright|\(c\)|\xc2\xa9).{0,120}all rights reserved"
)
# Without "all rights reserved" © is required: (c) is common in licences of programs.
_OWNER = re.compile(rb"(?:copyright\s{0,3})?\xc2\xa9\s{0,3}(?:copyright\s{0,3})?(?:19|20)\d\d\b")
_BETWEEN = re.compile(rb"\||\xe2\x80\xba|\xc2\xbb|\xc2\xb7|\xe2\x80\xa2")
_MAX_COPYRIGHT_WORDS = 24
_MAX_OWNER_WORDS = 10
_MAX_ITEM_BYTES, _MAX_ITEM_WORDS = 28, 4
_MIN_ITEMS, _MIN_CAPITALISED = 4, 0.75


def _by_key() -> dict[tuple[str, ...], list[Phrase]]:
    table: dict[tuple[str, ...], list[Phrase]] = {}
    for phrase in PHRASES:
        table.setdefault(phrase.words[:2], []).append(phrase)
    return table


_PHRASES_OF = _by_key()


@cache
def _keys() -> npt.NDArray[np.uint8]:
    return line_keys([" ".join(words) for words in _PHRASES_OF])


def boilerplate_rule(data: bytes, start: int, stop: int) -> str | None:
    """The rule that makes a line of UTF-8 text boilerplate, or None."""
    line = data[start:stop].lower()
    if _NOT_PROSE.match(line):
        return None
    words = [word.decode() for word in _WORDS.findall(line)]
    for phrase in _PHRASES_OF.get(tuple(words[:2]), ()):
        size = len(phrase.words)
        if tuple(words[:size]) != phrase.words or len(words) > size + phrase.extra:
            continue
        if not phrase.needs or not phrase.needs.isdisjoint(words[size:]):
            return phrase.rule
    line = line.strip()
    reserved = len(words) <= _MAX_COPYRIGHT_WORDS and words[-3:] == ["all", "rights", "reserved"]
    if reserved and _RIGHTS.match(line):
        return "copyright"
    if len(words) <= _MAX_OWNER_WORDS and _OWNER.match(line):
        return "copyright"
    return "navigation" if _is_navigation(data, start, stop) else None


def _is_navigation(data: bytes, start: int, stop: int) -> bool:
    """Many short items that begin with a capital; not a row of a table."""
    line = data[start:stop].strip()
    num_marks = len(_BETWEEN.findall(line))
    if num_marks < _MIN_ITEMS - 1 or line.startswith(b"|") or line.endswith(b"|"):
        return False
    items = [item for item in map(bytes.strip, _BETWEEN.split(line)) if item]
    if len(items) < _MIN_ITEMS:
        return False
    if any(len(item) > _MAX_ITEM_BYTES or len(item.split()) > _MAX_ITEM_WORDS for item in items):
        return False
    capitalised = sum(item.decode()[0].isupper() for item in items)
    if capitalised < _MIN_CAPITALISED * len(items):
        return False
    before = data.rfind(b"\n", 0, max(0, start - 1)) + 1
    after = data.find(b"\n", stop + 1)
    beside = data[before : max(0, start - 1)], data[stop + 1 : after if after >= 0 else len(data)]
    return not any(len(_BETWEEN.findall(other[:400])) == num_marks for other in beside)


@dataclass(frozen=True)
class DropBoilerplate(Rewriter):
    """Drops boilerplate lines of web pages (copyright, navigation, cookie notices …)."""

    rules: tuple[str, ...] = RULES

    def __post_init__(self) -> None:
        for rule in self.rules:
            if rule not in RULES:
                raise ConfigError(f"rules must be among {', '.join(RULES)}, got {rule!r}")

    def touches(self, texts: Texts) -> npt.NDArray[np.bool_]:
        return have_lines(texts.text, texts.offsets, _keys())

    def rewrite(self, text: str, meta: Mapping[str, Any]) -> Rewritten:  # noqa: ARG002
        data = text.encode()
        offsets = np.array([0, len(data)], np.int64)
        starts, stops = find_lines(np.frombuffer(data, np.uint8), offsets, _keys(), Scratch())
        parts: list[bytes] = []
        found: dict[str, int] = {}
        done = 0
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            rule = boilerplate_rule(data, start, stop)
            if rule not in self.rules or rule is None:
                continue
            found[rule] = found.get(rule, 0) + 1
            parts.append(data[done:start])
            done = min(len(data), stop + 1)
            if _blank_before(data, start) and data[done : done + 1] == b"\n":
                done += 1
        if not found:
            return Rewritten(text, {})
        parts.append(data[done:])
        return Rewritten(b"".join(parts).decode(), found)


def _blank_before(data: bytes, start: int) -> bool:
    return start == 0 or data[max(0, start - 2) : start] == b"\n\n"
