"""Progress of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _report_to_nobody(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Progress:
    """A stage and its bytes, then bytes done."""

    on_plan: Callable[[str, int], None] = _report_to_nobody
    on_bytes: Callable[[int], None] = _report_to_nobody
