"""Rules by language: the filters made for English, with the limits of the language of each text."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.corpus.filters.c4 import C4
from barrow.corpus.filters.filter import KEEP, Decisions, Described, Filter, Step
from barrow.corpus.filters.fineweb import FineWeb
from barrow.corpus.filters.gopher_quality import GopherQuality
from barrow.corpus.filters.gopher_repetition import GopherRepetition
from barrow.corpus.filters.language import UNDETERMINED, identify
from barrow.corpus.filters.texts import Texts
from barrow.corpus.recipe import Recipe
from barrow.errors import ConfigError

AUTO, ENGLISH = "auto", "en"
_TABLE = Path(__file__).with_name("language_rules.json")
_RULES = (GopherQuality, GopherRepetition, C4, FineWeb)


@dataclass(frozen=True)
class ByLanguage(Filter):
    """Applies `filters` with the limits of a language in place of the English ones.

    `language` is a code of the table, for all texts, or ``auto``: that of each text, by `identify`.
    Texts in a language that the table does not have, or whose language is less likely than
    `min_score`, get the limits that hold in every language. A limit that differs from the filter's
    default stays as you set it. English texts get the filters as they are.

    A build stops where its filters remove more than `budget` of the texts in a language of the
    table, if there are at least 100. `table_sha256` is the table's: equal settings mean equal
    decisions.
    """

    filters: tuple[Filter, ...] = (GopherQuality(), GopherRepetition(), C4(), FineWeb())
    language: str = AUTO
    min_score: float = 0.5
    budget: float | None = 0.95
    table_sha256: str | None = None

    def __post_init__(self) -> None:
        if self.language not in (AUTO, ENGLISH, *language_rules()):
            known = ", ".join(sorted({ENGLISH, *language_rules()}))
            raise ConfigError(f"language must be 'auto' or one of {known}, got {self.language!r}")
        for chosen in self.filters:
            if not isinstance(chosen, _RULES):
                names = ", ".join(kind.__name__ for kind in _RULES)
                raise ConfigError(f"filters must be of {names}, got {chosen!r}")
        if not 0 <= self.min_score <= 1:
            raise ConfigError(f"min_score must be between 0 and 1, got {self.min_score}")

    def resolved(self) -> ByLanguage:
        """The same with the hash of the table, for the key of a task."""
        return replace(self, table_sha256=hashlib.sha256(_TABLE.read_bytes()).hexdigest())

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(reason for chosen in self.filters for reason in chosen.reasons)

    def describe(self, texts: Texts) -> Described:
        """The language of each text, where it is identified."""
        return Described(languages=identify(texts).codes if self.language == AUTO else None)

    def decide(self, texts: Texts) -> Decisions:
        decisions = Decisions.keep_all(len(texts))
        codes = self._languages(texts)
        for code in np.unique(codes).tolist():
            rows = np.flatnonzero(codes == code)
            unspaced = code != ENGLISH and language_rules()[code]["unspaced"]
            some = texts
            if unspaced or len(rows) < len(texts):
                some = texts.chosen(rows, unspaced=unspaced)
            first = 0
            for chosen in self._filters(code):
                found = chosen.decide(some)
                fresh = (found.code != KEEP) & (decisions.code[rows] == KEEP)
                decisions.code[rows[fresh]] = found.code[fresh] + first
                decisions.value[rows[fresh]] = found.value[fresh]
                first += len(chosen.reasons)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        """A decision in words, without the limit, which depends on the language."""
        chosen = next(chosen for chosen in self.filters if reason in chosen.reasons)
        figure, comma, rest = chosen.cause(reason, value).rpartition(", ")
        return f"{figure}, outside the limits of its language" if comma else rest

    def _languages(self, texts: Texts) -> npt.NDArray[np.str_]:
        if self.language != AUTO:
            return np.full(len(texts), self.language)
        codes, scores = identify(texts)
        known = np.isin(codes, [ENGLISH, *language_rules()]) & (scores >= self.min_score)
        return np.where(known, codes, UNDETERMINED)

    def _filters(self, code: str) -> tuple[Filter, ...]:
        return self.filters if code == ENGLISH else _adapted(self.filters, code)


@cache
def language_rules() -> dict[str, dict[str, Any]]:
    """By language: whether it has no blanks between words, and limits by the filter's name."""
    rules: dict[str, dict[str, Any]] = json.loads(_TABLE.read_text())["languages"]
    return rules


def has_rules(code: str) -> bool:
    """Whether a language has rules of its own."""
    return code == ENGLISH or (code in language_rules() and code != UNDETERMINED)


@cache
def _adapted(filters: tuple[Filter, ...], code: str) -> tuple[Filter, ...]:
    return tuple(_with_limits(chosen, language_rules()[code]) for chosen in filters)


def _with_limits(chosen: Filter, rules: dict[str, Any]) -> Filter:
    """A filter whose limits that are the default are those of a language."""
    assert isinstance(chosen, _RULES)  # checked where they are set
    limits = rules.get(type(chosen).__name__, {})
    return replace(
        chosen,
        **{
            field.name: _frozen(limits[field.name])
            for field in fields(chosen)
            if field.name in limits and getattr(chosen, field.name) == field.default
        },
    )


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def steps_by_language(steps: tuple[Step, ...], language: str) -> tuple[Step, ...]:
    """Steps whose rules for English are those of a language, or with ``auto`` of each text's."""
    found: list[Step] = []
    for are_rules, group in groupby(steps, lambda step: isinstance(step, _RULES)):
        some = tuple(group)
        rules = tuple(step for step in some if isinstance(step, Filter))
        found += (ByLanguage(rules, language),) if are_rules else some
    return tuple(found)


def recipe_by_language(recipe: Recipe, language: str) -> Recipe:
    """A recipe with the rules of a language, or with ``auto`` of each text's; ``en`` as it is."""
    if language == ENGLISH:
        return recipe
    domains = {
        folder: replace(
            domain,
            filters=steps_by_language(domain.filters, language),
            filters_of={
                name: steps_by_language(steps, language)
                for name, steps in domain.filters_of.items()
            },
        )
        for folder, domain in recipe.domains.items()
    }
    return replace(recipe, domains=domains)
