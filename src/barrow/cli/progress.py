"""Progress on stderr: a bar that shows up after two seconds, or a line a minute elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from barrow.cli.terminal import printable
from barrow.engine import Progress, StageTime

_PATIENCE = 2.0
_MINUTE = 60.0


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
def staged_progress(*, with_ends: bool = False) -> Iterator[Progress]:
    """One bar after another, one for each stage; not on a terminal, a line a minute.

    With `with_ends`, a line at the end of each stage, too.
    """
    log = StageLog()
    with ExitStack() as stack, log.every_minute():
        advance: Callable[[int], None] = _silent

        def begin(what: str, total_bytes: int) -> None:
            nonlocal advance
            stack.close()
            advance = stack.enter_context(progress_bar(what, total_bytes))
            log.begin(what, total_bytes)

        def move(num_bytes: int) -> None:
            log.done += num_bytes
            advance(num_bytes)

        def end(took: StageTime) -> None:
            stack.close()
            if with_ends:
                log.end(took)

        yield Progress(begin, move, end)


class StageLog:
    """Lines on stderr about a stage: once a minute how far it is, and at its end what it took."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.done = 0
        self._clock = clock
        self._stage = ""
        self._total = 0
        self._began = clock()

    def begin(self, stage: str, total_bytes: int) -> None:
        """A stage and its bytes."""
        self._stage, self._total, self.done, self._began = stage, total_bytes, 0, self._clock()

    def line(self) -> str:
        """How far the stage is."""
        seconds = self._clock() - self._began
        share = self.done / self._total if self._total else 1.0
        left = f", about {seconds / share - seconds:,.0f} s left" if 0 < share < 1 else ""
        amount = f"{self.done / 1e6:,.1f} of {self._total / 1e6:,.1f} MB, "
        if self._total < 1e5:  # tasks without a size
            amount = ""
        return f"{self._stage}: {amount}{share:.0%} after {seconds:,.0f} s{left}"

    def end(self, took: StageTime) -> None:
        """Say what the stage took."""
        cached = f", {took.from_cache:,} from the cache" if took.from_cache else ""
        said = f"{took.stage:<16} {took.tasks:>6,} task{'s' * (took.tasks != 1)}{cached}"
        if took.is_measured:
            said += f", {took.bytes / 1e6:,.1f} MB"
        if took.tasks > took.from_cache:
            said += f", {took.seconds:,.1f} s"
        if took.is_measured and took.seconds >= 0.1:
            said += f", {took.rate:,.1f} MB/s"
        _say(said)

    @contextmanager
    def every_minute(self) -> Iterator[None]:
        """Say how far the stage is once a minute, unless stderr is a terminal."""
        if sys.stderr.isatty():
            yield
            return
        over = threading.Event()

        def tick() -> None:
            while not over.wait(_MINUTE):
                _say(self.line())

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _say(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)  # noqa: T201


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
