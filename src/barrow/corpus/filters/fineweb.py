"""FineWeb's rules, in addition to those of Gopher and C4: against lists, menus, cut-off text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.statistics.statistics import share
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.word_hashes import Offsets

_WORDS = {
    "fineweb-empty": "no line that is not white space",
    "fineweb-line-punct-ratio": "{:.1%} of lines end with a terminal mark, fewer than {:.1%}",
    "fineweb-short-line-ratio": "{:.1%} of lines are short, more than {:.1%}",
    "fineweb-char-dup-ratio": "{:.2%} of characters are in repeated lines, more than {:.2%}",
    "fineweb-list-ratio": "{:.2f} newlines a word, more than {}",
}


@dataclass(frozen=True)
class FineWeb(Filter):
    """FineWeb's rules: bounds on line ends, short lines and repeated lines; None disables one.

    Blank lines do not count.

    - `min_terminal_lines`: share of lines that end with a terminal punctuation mark
    - `max_short_lines`: share of short lines; `short_line`: characters of a line that is short, at
      most
    - `max_repeated_characters`: share of characters in lines that occurred before
    - `max_newlines_per_word`: line ends per word

    Defaults: Penedo et al. 2024, https://arxiv.org/abs/2406.17557, section 3.6.
    """

    min_terminal_lines: float | None = 0.12
    max_short_lines: float | None = 0.67
    short_line: int = 30
    max_repeated_characters: float | None = 0.01
    max_newlines_per_word: float | None = 0.3

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(_WORDS)

    def decide(self, texts: Texts) -> Decisions:
        decisions = Decisions.keep_all(len(texts))
        characters, lines = texts.statistics.characters, texts.statistics.lines
        decisions.reject(1, lines.filled_lines == 0, lines.filled_lines)
        if self.min_terminal_lines is not None:
            terminal = share(lines.terminal_lines, lines.filled_lines)
            decisions.reject(2, terminal < self.min_terminal_lines, terminal)
        if self.max_short_lines is not None:
            short = share(
                _num_short(lines.lengths, lines.offsets, self.short_line), lines.filled_lines
            )
            decisions.reject(3, short > self.max_short_lines, short)
        if self.max_repeated_characters is not None:
            repeated = share(
                lines.repeated_characters - lines.repeated_blank_characters,
                characters.characters - characters.newlines,
            )
            decisions.reject(4, repeated > self.max_repeated_characters, repeated)
        if self.max_newlines_per_word is not None:
            newlines = share(characters.newlines, texts.statistics.words.num_words)
            decisions.reject(5, newlines > self.max_newlines_per_word, newlines)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        limits = {
            "fineweb-empty": None,
            "fineweb-line-punct-ratio": self.min_terminal_lines,
            "fineweb-short-line-ratio": self.max_short_lines,
            "fineweb-char-dup-ratio": self.max_repeated_characters,
            "fineweb-list-ratio": self.max_newlines_per_word,
        }
        return _WORDS[reason].format(value, limits[reason])


@compiled
def _num_short(
    lengths: npt.NDArray[np.uint32], offsets: Offsets, most: int
) -> npt.NDArray[np.int64]:
    """How many lines of each text have up to so many characters."""
    number = np.zeros(len(offsets) - 1, np.int64)
    for document in range(len(offsets) - 1):
        for k in range(np.uint64(offsets[document]), np.uint64(offsets[document + 1])):
            number[document] += lengths[k] <= most
    return number
