"""What tokenizing tells while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _tell_nobody(*_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Progress:
    """A stage and its bytes, then bytes done."""

    on_plan: Callable[[str, int], None] = _tell_nobody
    on_bytes: Callable[[int], None] = _tell_nobody
