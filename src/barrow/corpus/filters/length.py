"""Texts that are too short or too long."""

from __future__ import annotations

from dataclasses import dataclass

from barrow.corpus.filters.filter import Decisions, Filter
from barrow.corpus.filters.texts import Texts
from barrow.errors import ConfigError


@dataclass(frozen=True)
class Length(Filter):
    """Keeps texts of `min_bytes` to `max_bytes` bytes (UTF-8).

    - `min_bytes`, `max_bytes`: bytes of a text; null is no limit
    """

    min_bytes: int = 1
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.max_bytes is not None and self.max_bytes < self.min_bytes:
            raise ConfigError(
                f"max_bytes must be ≥ min_bytes {self.min_bytes}, got {self.max_bytes}"
            )

    @property
    def reasons(self) -> tuple[str, ...]:
        return ("too-few-bytes", "too-many-bytes")

    def decide(self, texts: Texts) -> Decisions:
        decisions = Decisions.keep_all(len(texts))
        sizes = texts.sizes
        decisions.reject(1, sizes < self.min_bytes, sizes)
        if self.max_bytes is not None:
            decisions.reject(2, sizes > self.max_bytes, sizes)
        return decisions

    def cause(self, reason: str, value: float) -> str:
        if reason == "too-few-bytes":
            return f"{value:,.0f} bytes, fewer than {self.min_bytes:,}"
        return f"{value:,.0f} bytes, more than {self.max_bytes:,}"
