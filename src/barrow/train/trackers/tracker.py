"""What everything that follows a run has in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Values = Mapping[str, float | int | str]


class Tracker(Protocol):
    """Is told the settings and the first step, then the values of steps in their order."""

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """A run (its settings, as JSON holds them) begins or goes on at a step.

        What an earlier, longer attempt told of this step and later ones is void.
        """
        ...

    def log(self, step: int, values: Values) -> None:
        """What a step gave."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


def numbers(values: Values) -> dict[str, float]:
    """The values that can be drawn."""
    return {name: float(value) for name, value in values.items() if not isinstance(value, str)}


def flat(settings: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names."""
    if not isinstance(settings, Mapping):
        return {prefix: settings}
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= flat(value, f"{prefix}.{name}" if prefix else name)
    return found
