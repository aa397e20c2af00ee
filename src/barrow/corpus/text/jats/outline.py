"""Lines of markdown, with headings, quotes and lists."""

from __future__ import annotations

# Deeper quotes and lists are written at this depth, or nesting would take quadratic time.
_MAX_PREFIX = 40


class Outline:
    """Finished lines, and the prefixes of the lists and quotes around the next one."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._heads: list[tuple[int, int]] = []  # the line, and the level
        self._gap = 1
        self._rest = ""  # begins each line
        self._first: str | None = None  # begins the next line only: a bullet
        self._between = ""  # the prefix common to all containers since the last line
        self._outer: list[tuple[str | None, str]] = []

    def put(self, line: str) -> None:
        """Add a line."""
        if self._gap > 1 and self._lines:
            self._lines.append(self._between.rstrip())
        if self._first is not None:
            line, self._first = self._first + line, None
        elif self._rest:
            line = self._rest + line
        self._lines.append(line)
        self._between = self._rest
        self._gap = 1

    def put_code(self, code: str) -> None:
        """Add a block of code, its lines as they are."""
        lines = [line.rstrip() for line in code.expandtabs(4).strip("\r\n").splitlines()]
        if any(lines):
            fence = "````" if any(line.startswith("```") for line in lines) else "```"
            for line in (fence, *lines, fence):
                self.put(line)
            self._gap = 2

    def owe(self, gap: int) -> None:
        """Require so many line ends before the next line: 2 leaves a blank line."""
        if gap > self._gap:
            self._gap = gap

    def head(self, level: int, title: str) -> None:
        """Add a heading, blank lines around it."""
        self._gap = 2
        self.put(f"{'#' * level} {title}")
        self._heads.append((len(self._lines) - 1, level))
        self._gap = 2

    def open(self, first: str, rest: str = "") -> None:
        """A list item or a quote begins: its first line's prefix, and that of the others."""
        self._outer.append((self._first, self._rest))
        if len(self._rest) < _MAX_PREFIX:
            if first != rest or self._first is not None:
                self._first = (self._rest if self._first is None else self._first) + first
            self._rest += rest or " " * len(first)

    def relabel(self, first: str) -> None:
        """Give the open item another first prefix, if nothing was written in it yet."""
        if self._first is not None and self._outer:
            outer_first, outer_rest = self._outer[-1]
            self._first = (outer_rest if outer_first is None else outer_first) + first

    def close(self) -> None:
        """The innermost item or quote ends."""
        outer_first, self._rest = self._outer.pop()
        if self._first is not None:  # nothing was written in it
            self._first = outer_first
        if len(self._rest) < len(self._between):
            self._between = self._rest

    def text(self) -> str:
        """All lines, without headings of empty sections."""
        dropped: set[int] = set()
        following, level_after = len(self._lines), 1
        for at, level in reversed(self._heads):
            if level_after <= level and not any(self._lines[at + 1 : following]):
                dropped.update((at, at - 1))  # with the blank line before it
            else:
                level_after = level
            following = at
        kept = (line for at, line in enumerate(self._lines) if at not in dropped)
        return "\n".join(kept).lstrip("\n")
