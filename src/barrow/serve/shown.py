"""The text of an answer that may be shown: up to a stop text, and nothing that may become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barrow.models.text import GrowingText

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer


class Shown:
    """Text as tokens arrive, whole characters at a time.

    The end of a text that may be the beginning of one of `stops` is held back.
    """

    def __init__(
        self, tokenizer: Tokenizer, prompt: Sequence[int], *, stops: Sequence[str]
    ) -> None:
        self.shown = ""
        self._text = GrowingText(tokenizer, prompt)
        self._held = ""
        self._stops = tuple(stops)
        self._is_over = False

    def add(self, token: int) -> bool:
        """Whether a stop text is complete with this token."""
        return self._extend(self._text.add([token]))

    def end(self) -> str:
        """The whole text; after a stop text, what was before it."""
        if not self._is_over and not self._extend(self._text.end()):
            self.shown += self._held
            self._held = ""
        return self.shown

    def _extend(self, more: str) -> bool:
        self._held += more
        found = [place for stop in self._stops if (place := self._held.find(stop)) >= 0]
        self._is_over = bool(found)
        sure = min(found) if found else len(self._held) - self._num_open()
        self.shown += self._held[:sure]
        self._held = "" if found else self._held[sure:]
        return self._is_over

    def _num_open(self) -> int:
        """Characters at the end that a stop text may begin with."""
        longest = max(map(len, self._stops), default=1) - 1
        for num in range(min(longest, len(self._held)), 0, -1):
            if any(stop.startswith(self._held[-num:]) for stop in self._stops):
                return num
        return 0
