"""One piece of work behind the caller's back, its error kept until somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class Behind:
    """Runs one job at a time on a thread; a program that ends waits for it."""

    def __init__(self) -> None:
        self._pending: Future[None] | None = None

    def start(self, job: Callable[[], None]) -> None:
        """Begin a job, once the one before is done; its error is raised here, and nothing begun."""
        self.wait()
        thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending = thread.submit(job)
        thread.shutdown(wait=False)

    def wait(self) -> None:
        """Return when nothing is under way; raise the error of the last job, once."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()
