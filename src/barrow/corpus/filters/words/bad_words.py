"""Texts with words of a list, as C4 rejects pages; the lists are yours."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from barrow.corpus.filters.by_language import AUTO, language_rules
from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.language import identify
from barrow.corpus.filters.pattern import check_expression, compute_on
from barrow.corpus.filters.sample import draws
from barrow.corpus.filters.texts import Texts
from barrow.corpus.mixture import below
from barrow.errors import ConfigError, NotFound
from barrow.files import Version, version_of

_PURPOSE = (1 << 32) + 1
_OTHER = r"[^\pL\pN\pM_]"  # not part of a word


@dataclass(frozen=True)
class BadWords(Filter):
    """Rejects texts that have a word or phrase of the list of their language, as C4.

    Case is ignored. An entry counts where no letter, digit or mark touches it; in languages without
    blanks between words, anywhere. Texts whose language has no list are kept.

    - `lists`: files by language code, one word or phrase a line
    - `language`: that of all texts, or ``auto``: that of each text, by `identify`
    - `keep_fraction`: share of the texts with such words that stays, drawn by their ids and `seed`
    - `sha256`: those of the lists, set by the build: equal settings mean equal decisions
    """

    lists: dict[str, Path]
    language: str = AUTO
    keep_fraction: float = 0.0
    seed: int = 42
    sha256: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.lists:
            raise ConfigError("lists must have a file for at least one language, got none")
        if self.language != AUTO and self.language not in self.lists:
            known = ", ".join(sorted(self.lists))
            raise ConfigError(f"language must be 'auto' or one of {known}, got {self.language!r}")
        if not 0 <= self.keep_fraction < 1:
            raise ConfigError(f"keep_fraction must be ≥ 0 and < 1, got {self.keep_fraction}")

    def resolved(self) -> BadWords:
        """The same with the lists' `sha256`, for the key of a task; wrong ones are an error."""
        hashes = tuple(words.sha256 for _, words in self._lists())
        if self.sha256 not in (None, hashes):
            paths = ", ".join(map(str, self.lists.values()))
            raise ConfigError(
                f"{paths}: a list has changed; expected sha256 {self.sha256}, got {hashes}"
            )
        return replace(self, sha256=hashes)

    @property
    def reasons(self) -> tuple[str, ...]:
        return ("bad-words",)

    def decide(self, texts: Texts) -> Decisions:
        """Keep, or a reason, for each text; the value is the number of the entry."""
        if self.sha256 is not None:
            self.resolved()
        decisions = Decisions.keep_all(len(texts))
        auto = self.language == AUTO
        codes = identify(texts).codes if auto else np.full(len(texts), self.language)
        first = 0
        for code, words in self._lists():
            rows = np.flatnonzero(codes == code)
            if len(rows):
                some = texts if len(rows) == len(texts) else texts.chosen(rows)
                compute, strings = compute_on(some)
                has = compute.match_substring_regex(strings, words.expression)
                hits = np.flatnonzero(has.to_numpy(zero_copy_only=False)).tolist()
                # Where it is takes longer, so only the texts that have one are asked.
                places = compute.find_substring_regex(strings.filter(has), words.expression)
                for i, place in zip(hits, places.to_pylist(), strict=True):
                    start, end = int(some.offsets[i]) + place, int(some.offsets[i + 1])
                    piece = some.text[start : min(start + 8 + 4 * words.sizes[0], end)].tobytes()
                    decisions.code[rows[i]] = 1
                    decisions.value[rows[i]] = first + words.number(piece.decode(errors="ignore"))
            first += len(words.entries)
        if self.keep_fraction and decisions.code.any():
            decisions.code[below(draws(texts, self.seed, _PURPOSE), self.keep_fraction)] = 0
        return decisions

    def cause(self, reason: str, value: float) -> str:
        del reason
        number = int(value)
        for code, words in self._lists():
            if number < len(words.entries):
                return f"has {words.entries[number]!r} of the list for {code}"
            number -= len(words.entries)
        raise AssertionError("a value of these lists")

    def _lists(self) -> Iterator[tuple[str, _Words]]:
        for code, path in sorted(self.lists.items()):
            if not path.is_file():
                raise NotFound(f"{path} is not a file; expected a list of words for {code!r}")
            unspaced = language_rules().get(code, {}).get("unspaced", False)
            yield code, _read(path, unspaced, version_of(path))


@dataclass(frozen=True)
class _Words:
    """Entries of a list, and the expression that finds one of them."""

    entries: tuple[str, ...]
    expression: str
    sha256: str

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The numbers of the entries, by their folded case."""
        return {entry.casefold(): k for k, entry in enumerate(self.entries)}

    @cached_property
    def sizes(self) -> list[int]:
        """Lengths of the entries, the longest first."""
        return sorted({len(entry) for entry in self.numbers}, reverse=True)

    def number(self, text: str) -> int:
        """The number of the longest entry at the beginning, or after the first character."""
        text = text.casefold()
        found = (text[start : start + size] for size in self.sizes for start in (0, 1))
        return next((self.numbers[word] for word in found if word in self.numbers), 0)


@lru_cache(maxsize=64)
def _read(path: Path, unspaced: bool, version: Version) -> _Words:
    """A list; read again only when the file has changed."""
    del version
    data = path.read_bytes()
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} must be UTF-8, one word a line: {error}") from None
    entries = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not entries:
        raise ConfigError(f"{path} has no words; expected one a line")
    some = "|".join(map(re.escape, entries))
    expression = f"(?i){some}" if unspaced else f"(?i)(?:^|{_OTHER})(?:{some})(?:{_OTHER}|$)"
    try:
        check_expression(expression)
    except ConfigError:
        raise ConfigError(
            f"{path} has {len(entries):,} words, too many to search for; keep the most frequent"
        ) from None
    return _Words(entries, expression, hashlib.sha256(data).hexdigest())
