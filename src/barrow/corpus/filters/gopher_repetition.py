"""The repetition rules of Gopher's MassiveText."""

from __future__ import annotations

from dataclasses import dataclass

from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.statistics.repeated_ngrams import REPEATED_LENGTHS, TOP_LENGTHS
from barrow.corpus.filters.statistics.statistics import share
from barrow.corpus.filters.texts import Texts
from barrow.errors import ConfigError

Limits = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class GopherRepetition(Filter):
    """Gopher's repetition rules: bounds on repeated lines, paragraphs, n-grams; None disables one.

    Shares are of the paragraphs, of the lines, or of the characters of a text. An n-gram bound is
    a pair of n and the largest share: of the most frequent n-gram (n of 2 to 4), or of all repeated
    n-grams (n of 5 to 10).

    - `max_repeated_paragraphs`, `max_repeated_lines`: share of them that occurred before
    - `max_repeated_paragraph_characters`, `max_repeated_line_characters`: their share of the
      characters
    - `top_ngrams`: pairs of n and the largest share of the most frequent n-gram
    - `repeated_ngrams`: pairs of n and the largest share of all repeated n-grams

    Defaults: Rae et al. 2021, https://arxiv.org/abs/2112.11446, table A1.
    """

    max_repeated_paragraphs: float | None = 0.3
    max_repeated_paragraph_characters: float | None = 0.2
    max_repeated_lines: float | None = 0.3
    max_repeated_line_characters: float | None = 0.2
    top_ngrams: Limits = ((2, 0.2), (3, 0.18), (4, 0.16))
    repeated_ngrams: Limits = ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10))

    def __post_init__(self) -> None:
        for name, lengths in (("top_ngrams", TOP_LENGTHS), ("repeated_ngrams", REPEATED_LENGTHS)):
            for n, _ in getattr(self, name):
                if n not in lengths:
                    raise ConfigError(
                        f"{name} must have {lengths[0]} to {lengths[-1]} words, got {n}"
                    )

    @property
    def reasons(self) -> tuple[str, ...]:
        return (
            "gopher-empty",
            "gopher-dup-para-frac",
            "gopher-dup-para-char-frac",
            "gopher-dup-line-frac",
            "gopher-dup-line-char-frac",
            *(f"gopher-top-{n}-gram" for n, _ in self.top_ngrams),
            *(f"gopher-duplicated-{n}-n-grams" for n, _ in self.repeated_ngrams),
        )

    def decide(self, texts: Texts) -> Decisions:
        decisions = Decisions.keep_all(len(texts))
        lines = texts.statistics.lines
        characters = texts.statistics.characters.characters
        decisions.reject(1, characters == 0, characters)
        for reason, limit, part, whole in (
            (2, self.max_repeated_paragraphs, lines.repeated_paragraphs, lines.paragraphs),
            (
                3,
                self.max_repeated_paragraph_characters,
                lines.repeated_paragraph_characters,
                characters,
            ),
            (4, self.max_repeated_lines, lines.repeated_parts, lines.parts),
            (5, self.max_repeated_line_characters, lines.repeated_characters, characters),
        ):
            if limit is not None:
                shares = share(part, whole)
                decisions.reject(reason, shares > limit, shares)
        for reason, (n, limit) in enumerate((*self.top_ngrams, *self.repeated_ngrams), 6):
            shares = share(texts.statistics.ngrams.characters[n], characters)
            decisions.reject(reason, shares > limit, shares)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        if reason == "gopher-empty":
            return "an empty text"
        number = self.reasons.index(reason)
        if number > 4:
            n, limit = (*self.top_ngrams, *self.repeated_ngrams)[number - 5]
            what = f"the most frequent {n}-gram" if n in TOP_LENGTHS else f"repeated {n}-grams"
            return f"{what}: {value:.1%} of the characters, more than {limit:.1%}"
        of, bound = (
            ("paragraphs are repeated", self.max_repeated_paragraphs),
            ("characters are in repeated paragraphs", self.max_repeated_paragraph_characters),
            ("lines are repeated", self.max_repeated_lines),
            ("characters are in repeated lines", self.max_repeated_line_characters),
        )[number - 1]
        return f"{value:.1%} of {of}, more than {bound:.1%}"
