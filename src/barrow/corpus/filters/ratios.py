"""Shares of letters, digits, capitals and symbols among the characters of a text."""

from __future__ import annotations

from dataclasses import dataclass, fields

from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.statistics.statistics import share
from barrow.corpus.filters.texts import Texts
from barrow.errors import ConfigError


@dataclass(frozen=True)
class Ratios(Filter):
    """Keeps texts by their share of letters, capitals, digits and symbols; set at least one bound.

    `letters` and `capitals` are those of ``str.isalpha`` and ``str.isupper``, `digits` decimal
    digits, `symbols` Unicode's punctuation and symbols. Capitals are a share of letters, the others
    of all characters. The share of an empty text is 0.
    """

    min_letters: float | None = None
    max_digits: float | None = None
    max_capitals: float | None = None
    max_symbols: float | None = None

    def __post_init__(self) -> None:
        values = [getattr(self, field.name) for field in fields(self)]
        if all(value is None for value in values):
            names = ", ".join(field.name for field in fields(self))
            raise ConfigError(f"no bound is set, so everything would be kept; set one of {names}")

    @property
    def reasons(self) -> tuple[str, ...]:
        return ("too-few-letters", "too-many-digits", "too-many-capitals", "too-many-symbols")

    def decide(self, texts: Texts) -> Decisions:
        decisions = Decisions.keep_all(len(texts))
        counts = texts.statistics.characters
        if self.min_letters is not None:
            letters = share(counts.letters, counts.characters)
            decisions.reject(1, letters < self.min_letters, letters)
        for reason, most, part, whole in (
            (2, self.max_digits, counts.digits, counts.characters),
            (3, self.max_capitals, counts.capitals, counts.letters),
            (4, self.max_symbols, counts.symbols, counts.characters),
        ):
            if most is not None:
                shares = share(part, whole)
                decisions.reject(reason, shares > most, shares)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        limits = {
            "too-few-letters": ("letters", "fewer", self.min_letters),
            "too-many-digits": ("digits", "more", self.max_digits),
            "too-many-capitals": ("capitals", "more", self.max_capitals),
            "too-many-symbols": ("symbols", "more", self.max_symbols),
        }
        what, side, limit = limits[reason]
        return f"{value:.1%} {what}, {side} than {limit:.1%}"
