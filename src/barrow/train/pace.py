"""How fast a run is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Pace:
    """Steps and tokens since the last reading, over the time that was spent on them.

    Nothing is known until the clock was started, which is when the first step, with its
    compilation, is over. Time between `pause` and `resume` does not count.
    """

    clock: Callable[[], float]
    _since: float | None = field(default=None, init=False)
    _paused: float | None = field(default=None, init=False)
    _steps: int = field(default=0, init=False)
    _tokens: int = field(default=0, init=False)

    def add(self, num_tokens: int) -> None:
        """One more step is over; the first starts the clock."""
        if self._since is None:
            self._since = self.clock()
            return
        self._steps += 1
        self._tokens += num_tokens

    def pause(self) -> None:
        """Something else than training begins."""
        self._paused = self.clock()

    def resume(self) -> None:
        """Training goes on."""
        if self._since is not None and self._paused is not None:
            self._since += self.clock() - self._paused
        self._paused = None

    def read(self) -> tuple[float, float] | None:
        """Seconds per step and tokens per second since the last reading; None if unknown."""
        if self._since is None or not self._steps:
            return None
        now = self.clock()
        seconds = now - self._since
        steps, tokens = self._steps, self._tokens
        self._since, self._steps, self._tokens = now, 0, 0
        return (seconds / steps, tokens / seconds) if seconds > 0 else None
