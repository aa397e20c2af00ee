"""The quality rules of Gopher's MassiveText, for prose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.statistics.characters import Counts
from barrow.corpus.filters.statistics.statistics import share
from barrow.corpus.filters.statistics.words import SpacedWords, spaced_words
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.kernels.word_hashes import Hashes, Offsets
from barrow.errors import ConfigError

_WORDS = {
    "gopher-short-doc": "{:,.0f} words, fewer than {:,}",
    "gopher-long-doc": "{:,.0f} words, more than {:,}",
    "gopher-below-avg-threshold": "words of {:.2f} characters on average, fewer than {}",
    "gopher-above-avg-threshold": "words of {:.2f} characters on average, more than {}",
    "gopher-too-many-hashes": "{:.3f} number signs a word, more than {}",
    "gopher-too-many-ellipsis": "{:.3f} ellipses a word, more than {}",
    "gopher-too-many-bullets": "{:.1%} of lines begin with a bullet, more than {:.1%}",
    "gopher-too-many-end-ellipsis": "{:.1%} of lines end with an ellipsis, more than {:.1%}",
    "gopher-below-alpha-threshold": "{:.1%} of words have a letter, fewer than {:.1%}",
    "gopher-enough-stop-words": "{:.0f} stop words, fewer than {}",
}


@dataclass(frozen=True)
class GopherQuality(Filter):
    """Gopher's quality rules: bounds on words, symbols, bullets, stop words; None disables one.

    Words are separated by white space. Words of punctuation marks alone count in ratios, but not
    for the number of words of a document and their mean length.

    - `min_words`, `max_words`: words of a text
    - `min_mean_word_length`, `max_mean_word_length`: mean characters of a word
    - `max_symbols_per_word`: hash signs, and ellipses, per word
    - `max_bullet_lines`: share of lines that begin with a bullet
    - `max_ellipsis_lines`: share of lines that end with an ellipsis
    - `min_alphabetic_words`: share of words with a letter
    - `min_stop_words`: how many of `stop_words` a text must have; `stop_words`: those words

    Defaults: Rae et al. 2021, https://arxiv.org/abs/2112.11446, appendix A.
    """

    min_words: int | None = 50
    max_words: int | None = 100_000
    min_mean_word_length: float | None = 3.0
    max_mean_word_length: float | None = 10.0
    max_symbols_per_word: float | None = 0.1
    max_bullet_lines: float | None = 0.9
    max_ellipsis_lines: float | None = 0.3
    min_alphabetic_words: float | None = 0.8
    min_stop_words: int | None = 2
    stop_words: tuple[str, ...] = ("the", "be", "to", "of", "and", "that", "have", "with")

    def __post_init__(self) -> None:
        for word in self.stop_words:
            if word.split() != [word]:
                raise ConfigError(f"a stop word must be one word without white space, got {word!r}")
        if self.min_stop_words is not None and self.min_stop_words > len(set(self.stop_words)):
            raise ConfigError(
                f"min_stop_words must be ≤ the {len(set(self.stop_words))} stop words, "
                f"got {self.min_stop_words}"
            )

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(_WORDS)

    def decide(self, texts: Texts) -> Decisions:
        decisions = Decisions.keep_all(len(texts))
        characters, words = texts.statistics.characters, texts.statistics.words
        lines, num_words = texts.statistics.lines, texts.statistics.words.num_words
        mean_length = share(words.plain_characters, words.plain_words)
        signs, ellipses = (
            share(characters.number_signs, num_words),
            share(characters.ellipses, num_words),
        )
        bullets = share(lines.bullet_lines, lines.lines)
        cut_off = share(lines.ellipsis_lines, lines.lines)
        alphabetic = share(words.alphabetic_words, num_words)
        if self.min_words is not None:
            decisions.reject(1, words.plain_words < self.min_words, words.plain_words)
        if self.max_words is not None:
            decisions.reject(2, words.plain_words > self.max_words, words.plain_words)
        if self.min_mean_word_length is not None:
            decisions.reject(3, mean_length < self.min_mean_word_length, mean_length)
        if self.max_mean_word_length is not None:
            decisions.reject(4, mean_length > self.max_mean_word_length, mean_length)
        if self.max_symbols_per_word is not None:
            decisions.reject(5, signs > self.max_symbols_per_word, signs)
            decisions.reject(6, ellipses > self.max_symbols_per_word, ellipses)
        if self.max_bullet_lines is not None:
            decisions.reject(7, bullets > self.max_bullet_lines, bullets)
        if self.max_ellipsis_lines is not None:
            decisions.reject(8, cut_off > self.max_ellipsis_lines, cut_off)
        if self.min_alphabetic_words is not None:
            decisions.reject(9, alphabetic < self.min_alphabetic_words, alphabetic)
        if self.min_stop_words is not None:
            found = num_stop_words(words, self.stop_words, self.min_stop_words)
            decisions.reject(10, found < self.min_stop_words, found)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        limits = {
            "gopher-short-doc": self.min_words,
            "gopher-long-doc": self.max_words,
            "gopher-below-avg-threshold": self.min_mean_word_length,
            "gopher-above-avg-threshold": self.max_mean_word_length,
            "gopher-too-many-hashes": self.max_symbols_per_word,
            "gopher-too-many-ellipsis": self.max_symbols_per_word,
            "gopher-too-many-bullets": self.max_bullet_lines,
            "gopher-too-many-end-ellipsis": self.max_ellipsis_lines,
            "gopher-below-alpha-threshold": self.min_alphabetic_words,
            "gopher-enough-stop-words": self.min_stop_words,
        }
        return _WORDS[reason].format(value, limits[reason])


def num_stop_words(words: SpacedWords, stop_words: tuple[str, ...], enough: int) -> Counts:
    """How many different stop words each text has; counting ends at `enough`."""
    found = np.zeros(len(words.offsets) - 1, np.int64)
    table = _table(stop_words)
    last_seen = np.full(len(table), -1, np.int64)
    _search(words.hashes, words.offsets, table, enough, last_seen, found)
    return found


@cache
def _table(stop_words: tuple[str, ...]) -> Hashes:
    data = " ".join(stop_words).encode()
    hashes = spaced_words(np.frombuffer(data, np.uint8), np.array([0, len(data)]), Scratch()).hashes
    table = np.zeros(1 << (4 * len(hashes)).bit_length(), np.uint64)
    for value in hashes.tolist():
        place = value & (len(table) - 1)
        while table[place] not in (0, value):
            place = (place + 1) & (len(table) - 1)
        table[place] = value
    return table


@compiled
def _search(
    hashes: Hashes,
    offsets: Offsets,
    table: Hashes,
    enough: int,
    last_seen: npt.NDArray[np.int64],
    found: npt.NDArray[np.int64],
) -> None:
    one, mask = np.uint64(1), np.uint64(len(table) - 1)
    for document in range(len(offsets) - 1):
        for at in range(np.uint64(offsets[document]), np.uint64(offsets[document + 1])):
            place = hashes[at] & mask
            while table[place] != 0 and table[place] != hashes[at]:
                place = (place + one) & mask
            if table[place] != 0 and last_seen[place] != document:
                last_seen[place] = document
                found[document] += 1
                if found[document] >= enough:
                    break
