"""Texts that a regular expression matches, too often or too seldom.

The engine is RE2, that of pyarrow: its time is linear in the text whatever the expression, so none
can stop a build. It has no backreferences and no lookaround.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.texts import Texts
from barrow.errors import ConfigError, MissingExtra


@dataclass(frozen=True)
class Pattern(Filter):
    """Keeps texts by how often a regular expression matches; by default those that do not match.

    - `pattern`: a regular expression of RE2
    - `max_matches`, `min_matches`: with more or fewer matches a text is rejected; null: no limit
    - `name`: begins the names of the reasons, to tell several patterns apart
    """

    pattern: str
    max_matches: int | None = 0
    min_matches: int = 0
    name: str = "pattern"

    def __post_init__(self) -> None:
        if self.min_matches < 0 or (self.max_matches or 0) < 0:
            least = min(self.min_matches, self.max_matches or 0)
            raise ConfigError(f"min_matches and max_matches must be ≥ 0, got {least}")
        if self.max_matches is None and self.min_matches == 0:
            raise ConfigError("everything would be kept; set max_matches or min_matches")
        if self.max_matches is not None and self.max_matches < self.min_matches:
            raise ConfigError(
                f"max_matches must be ≥ min_matches {self.min_matches}, got {self.max_matches}"
            )
        if not self.pattern:
            raise ConfigError("a pattern must not be empty")
        check_expression(self.pattern)

    @property
    def reasons(self) -> tuple[str, ...]:
        return (f"{self.name}-found", f"{self.name}-missing")

    def decide(self, texts: Texts) -> Decisions:
        compute, strings = compute_on(texts)
        if (self.max_matches or 0) == 0 and self.min_matches <= 1:  # once is enough
            counted = compute.match_substring_regex(strings, self.pattern)
        else:
            counted = compute.count_substring_regex(strings, self.pattern)
        found = counted.to_numpy(zero_copy_only=False).astype(np.int64)
        decisions = Decisions.keep_all(len(texts))
        if self.max_matches is not None:
            decisions.reject(1, found > self.max_matches, found)
        decisions.reject(2, found < self.min_matches, found)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        if reason.endswith("-missing"):
            return f"{value:,.0f} matches of {self.pattern!r}, fewer than {self.min_matches:,}"
        if self.max_matches == 0:
            return f"matches {self.pattern!r}"
        return f"{value:,.0f} matches of {self.pattern!r}, more than {self.max_matches:,}"


def compute_on(texts: Texts) -> tuple[Any, Any]:
    """Pyarrow's functions, and the texts as its strings, in the same buffer."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError:
        raise MissingExtra("pyarrow", "patterns", "filtering by patterns") from None
    buffers = (pyarrow.py_buffer(array) for array in (texts.offsets, texts.text))
    return pyarrow.compute, pyarrow.LargeStringArray.from_buffers(len(texts), *buffers)


def check_expression(pattern: str) -> None:
    """Raise `ConfigError` for what is not a regular expression of RE2, where that is installed."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError:  # settings can be read without it
        return
    try:
        pyarrow.compute.match_substring_regex(pyarrow.array([""]), pattern)
    except pyarrow.ArrowInvalid as error:
        raise ConfigError(
            f"pattern must be a regular expression of RE2 (no lookaround, no backreferences), "
            f"got {pattern!r}: {error}"
        ) from None
