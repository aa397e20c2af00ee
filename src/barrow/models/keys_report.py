"""A report of every key of a weight file, and of every parameter of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from barrow.weights.matching import Mismatch


@dataclass(frozen=True)
class KeysReport:
    """Keys that file and model share, and those that they do not, by reason.

    missing: the model has it, the file has not. unexpected: the file has it, the model has not.
    ignored: known and harmless, such as masks that are computed here; `reasons` explains each.
    mismatched: other shapes. `notes` are sentences on optional parts that the model lacks.
    """

    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    mismatched: tuple[Mismatch, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether file and model have the same parameters."""
        return not (self.missing or self.unexpected or self.mismatched)

    def __str__(self) -> str:
        lines = [f"{len(self.matched):,} keys matched"]
        kinds = ("missing", "unexpected", "ignored", "mismatched")
        named = {kind: getattr(self, kind) for kind in kinds}
        named["ignored"] = tuple(self._explained(key) for key in self.ignored)
        lines += [f"{len(keys):,} {kind}: {_some(keys)}" for kind, keys in named.items() if keys]
        return "; ".join([*lines, *self.notes])

    def _explained(self, key: str) -> str:
        return f"{key} ({self.reasons[key]})" if key in self.reasons else key


def _some(entries: Sequence[str | Mismatch], num: int = 6) -> str:
    shown = ", ".join(_word(entry) for entry in entries[:num])
    return shown if len(entries) <= num else f"{shown}, … and {len(entries) - num:,} more"


def _word(entry: str | Mismatch) -> str:
    if isinstance(entry, str):
        return entry
    return f"{entry.name}: expected {list(entry.expected)}, found {list(entry.found)}"
