"""A progress bar that shows up after two seconds, on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from barrow.cli.terminal import printable
from barrow.engine import Progress

_PATIENCE = 2.0


@contextmanager
def progress_bar(what: str, total_bytes: int | None) -> Iterator[Callable[[int], None]]:
    """Give a function to be called with the bytes done since the last call."""
    if not sys.stderr.isatty():
        yield _silent
        return
    started = time.monotonic()
    done = 0
    bar: Any = None
    task: Any = None

    def advance(num_bytes: int) -> None:
        nonlocal done, bar, task
        done += num_bytes
        if bar is None:
            if time.monotonic() - started < _PATIENCE:
                return
            bar = _make_bar()
            task = bar.add_task(printable(what), total=total_bytes)
            bar.start()
        bar.update(task, completed=done)

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()


@contextmanager
def staged_progress() -> Iterator[Progress]:
    """One bar after another, one for each stage."""
    with ExitStack() as stack:
        advance: Callable[[int], None] = _silent

        def begin(what: str, total_bytes: int) -> None:
            nonlocal advance
            stack.close()
            advance = stack.enter_context(progress_bar(what, total_bytes))

        yield Progress(begin, lambda num_bytes: advance(num_bytes))


def _silent(num_bytes: int) -> None:
    del num_bytes


def _make_bar() -> Any:
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
