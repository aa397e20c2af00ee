"""A config.json as typed settings: errors say what was expected and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Values of a config.json. A key that is absent or null has its family's default."""

    values: Mapping[str, Any]

    def get(self, key: str, default: Any = None) -> Any:
        """The value as it is."""
        value = self.values.get(key)
        return default if value is None else value

    def count(self, key: str, default: int) -> int:
        """A whole number of at least 1."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"config.json: {key} must be an integer ≥ 1, got {value!r}")
        return value

    def count_or_none(self, key: str, default: int | None = None) -> int | None:
        """A whole number of at least 1, or null; `default` only where the key is absent."""
        if key not in self.values:
            return default
        return None if self.values[key] is None else self.count(key, 1)

    def number(self, key: str, default: float) -> float:
        """A positive number."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise ValueError(f"config.json: {key} must be a positive number, got {value!r}")
        return float(value)

    def share(self, key: str, default: float) -> float:
        """A number from 0 to below 1."""
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise ValueError(f"config.json: {key} must be ≥ 0 and < 1, got {value!r}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise ValueError(f"config.json: {key} must be true or false, got {value!r}")
        return value

    def text(self, key: str, default: str) -> str:
        """A string."""
        value = self.get(key, default)
        if not isinstance(value, str):
            raise ValueError(f"config.json: {key} must be a string, got {value!r}")
        return value

    def table(self, key: str) -> Settings | None:
        """An object within, or None where there is none."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise ValueError(f"config.json: {key} must be an object, got {value!r}")
        return Settings(value)

    def require(self, key: str, wanted: bool, *, default: bool) -> None:
        """Raise unless the value is the supported one."""
        value = self.flag(key, default)
        if value is not wanted:
            raise ValueError(f"config.json: {key} must be {wanted}, got {value}")
