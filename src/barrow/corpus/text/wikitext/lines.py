"""Lines of wikitext whose inline markup is gone: paragraphs, headings, lists."""

from __future__ import annotations

import re
from collections.abc import Collection

from barrow.corpus.text.wikitext.marks import BREAK, CONTROLS

_BULLETS = re.compile(r"[*#:;]++")
_BLANKS = re.compile(r"[ \t\xa0\u2009\u202f]{2,}+|[\t\xa0\u2009\u202f]")
_SPECIAL = frozenset(" *#:;=|!-\t\xa0")
_EMPTY = f" \n{BREAK}"
_DEEPEST = 12


def lay_out(text: str, *, dropped_sections: Collection[str] = ()) -> str:
    """Paragraphs and headings with a blank line between them, lists one item per line.

    Lines of a paragraph are joined. A section named in `dropped_sections` (in lower case) is
    dropped with its subsections, and so is a heading without text.
    """
    page = _Page(dropped_sections)
    for line in text.split("\n"):
        first = line[:1]
        if first and first not in _SPECIAL:
            page.add_text(line)
        elif not first or line.isspace():
            page.end_block()
        elif first in "*#:;":
            page.add_item(line)
        elif first == "=" and (level := _heading_level(line)):
            page.begin_section(level, line.strip()[level:-level].strip())
        elif first == "|" or (first == "!" and ("!!" in line or "|" in line)):
            pass  # of a table or template that was not closed
        elif line.startswith("----"):
            page.end_block()
            page.add_text(line.lstrip("-"))
        elif first == " ":
            page.add_line(line[1:])
        else:
            page.add_text(line)
    return page.finish()


class _Page:
    """Finished blocks, the block being written, and headings that wait for text."""

    def __init__(self, dropped_sections: Collection[str]) -> None:
        self._paragraph: list[str] = []
        self._dropped_sections = dropped_sections
        self._blocks: list[str] = []
        self._lines: list[str] = []
        self._marks = ""  # of the last item, while its list continues
        self._counters: list[int] = []  # items so far, for each of its marks
        self._headings: list[tuple[int, str]] = []
        self._dropping: int | None = None  # the level of the section that is left out

    def add_text(self, line: str) -> None:
        """A line of a paragraph."""
        if self._lines:
            self.end_block()
        self._paragraph.append(line)

    def add_line(self, line: str) -> None:
        """A line that stays one."""
        if self._paragraph:
            self.end_block()
        self._end_list()
        if line.strip():
            self._lines.append(CONTROLS.sub("", line.replace("\xa0", " ").rstrip()))

    def add_item(self, line: str) -> None:
        """An item of a list, or an indented line."""
        if self._paragraph:
            self.end_block()
        found = _BULLETS.match(line)
        marks = found[0] if found else ""
        words = _one_spaced(line[len(marks) :].strip())
        if not words.strip(_EMPTY):
            return
        marks = marks[:_DEEPEST]
        depth = sum(mark in "*#" for mark in marks)
        last = marks[-1]
        self._count(marks.replace(";", ":"))
        bullet = "- " if last == "*" else f"{self._counters[-1]}. " if last == "#" else ""
        if last == ";" and " : " in words:
            words = words.replace(" : ", ": ", 1)
        self._lines.append("  " * (depth - (last in "*#")) + bullet + words)

    def _count(self, marks: str) -> None:
        """Lists whose marks the item has continue; others end, and new marks begin lists."""
        shared = 0
        for last, mark in zip(self._marks, marks, strict=False):
            if last != mark:
                break
            shared += 1
        del self._counters[shared:]
        if shared == len(marks):
            self._counters[-1] += 1
        self._counters += [1] * (len(marks) - shared)
        self._marks = marks

    def _end_list(self) -> None:
        self._marks = ""
        self._counters.clear()

    def end_block(self) -> None:
        """End the block being written."""
        if self._paragraph or self._lines:
            if self._lines:
                block = "\n".join(self._lines)
                self._lines.clear()
                self._end_list()
            else:
                block = _one_spaced(" ".join(self._paragraph).strip())
                self._paragraph.clear()
            if block.strip(_EMPTY) and self._dropping is None:
                self._blocks.extend(heading for _, heading in self._headings)
                self._headings.clear()
                self._blocks.append(block)

    def begin_section(self, level: int, heading: str) -> None:
        """A heading."""
        self.end_block()
        if self._dropping is not None and level > self._dropping:
            return
        self._dropping = None
        heading = _one_spaced(heading)
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        name = heading.strip(" :=").lower()
        if name in self._dropped_sections:
            self._dropping = level
        elif name:
            self._headings.append((level, heading.strip("= ")))

    def finish(self) -> str:
        """The whole text."""
        self.end_block()
        return "\n\n".join(self._blocks)


def _heading_level(line: str) -> int:
    """2 for ``== Heading ==``; 0 for any other line."""
    line = line.strip()
    before, after = len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("="))
    return min(before, after, 6) if before < len(line) else 0


def _one_spaced(text: str) -> str:
    # Most text is so already: white space other than a blank is not printable.
    if "  " not in text and text.isprintable():
        return text
    return CONTROLS.sub("", _BLANKS.sub(" ", text))
