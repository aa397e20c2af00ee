"""What became of every key of a file of weights, and of every parameter of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mismatch:
    """A tensor whose shape is not the one that the architecture asks for."""

    key: str
    expected: tuple[int, ...]
    found: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.key}: expected {list(self.expected)}, found {list(self.found)}"


@dataclass(frozen=True)
class KeysReport:
    """Keys that file and model share, and those that they do not, by reason.

    missing: the model has it, the file has not. unexpected: the file has it, the model has not.
    ignored: known and harmless, such as masks that are computed here. mismatched: other shapes.
    """

    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    mismatched: tuple[Mismatch, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether file and model have the same parameters."""
        return not (self.missing or self.unexpected or self.mismatched)

    def __str__(self) -> str:
        lines = [f"{len(self.matched):,} keys matched"]
        for name in ("missing", "unexpected", "ignored", "mismatched"):
            entries: Sequence[object] = getattr(self, name)
            if entries:
                lines.append(f"{len(entries):,} {name}: {_some(entries)}")
        return "; ".join(lines)


def _some(entries: Sequence[object], num: int = 6) -> str:
    shown = ", ".join(str(entry) for entry in entries[:num])
    return shown if len(entries) <= num else f"{shown}, … and {len(entries) - num:,} more"
