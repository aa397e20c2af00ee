"""The protocol of trackers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Values = Mapping[str, float | int | str]


class Tracker(Protocol):
    """Receives the settings and the first step, then the values of steps, in order."""

    def begin(self, run: Mapping[str, Any], start: int) -> None:
        """A run (its settings, as JSON holds them) starts or resumes at a step.

        Values that an earlier attempt logged for this step and later ones are void.
        """
        ...

    def log(self, step: int, values: Values) -> None:
        """The values of a step."""
        ...

    def close(self) -> None:
        """Nothing more will come."""
        ...


def numbers(values: Values) -> dict[str, float]:
    """The values that are numbers."""
    return {name: float(value) for name, value in values.items() if not isinstance(value, str)}


def flat(settings: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names."""
    if not isinstance(settings, Mapping):
        return {prefix: settings}
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= flat(value, f"{prefix}.{name}" if prefix else name)
    return found
