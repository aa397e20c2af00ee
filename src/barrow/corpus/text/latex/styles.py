"""Open groups and environments while a paper is written, and emphasis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barrow.corpus.text.latex.output import CELL, ITEM

if TYPE_CHECKING:
    from barrow.corpus.text.latex.writer import Writer


@dataclass(slots=True)
class Open:
    """Something to be closed: by a brace, or by the end of the environment of that name."""

    close: Close
    start: int  # where in the output it begins
    breaks: int  # how many paragraphs had been ended
    name: str = ""  # of the environment; nothing for a brace
    detail: str = ""


Close = Callable[["Writer", Open], None]


def declare(writer: Writer, mark: str) -> None:
    """A font for the rest of the group."""
    opened = writer.stack[-1] if writer.stack else None
    if opened is not None and opened.close is close_group and not opened.detail:
        opened.detail, opened.start, opened.breaks = mark, len(writer.out), writer.breaks


def close_group(writer: Writer, opened: Open) -> None:
    """The end of a group, and of the font declared in it."""
    if opened.detail:
        close_style(writer, opened)


def close_style(writer: Writer, opened: Open) -> None:
    """Put marks of emphasis around the text, if it is within one paragraph."""
    mark, start, out = opened.detail, opened.start, writer.out
    if writer.breaks != opened.breaks:
        return
    while start < len(out) and not out[start].strip(" \n"):
        start += 1
    if start == len(out) or out[start][0] in f"*`{ITEM}{CELL}":
        return
    if mark == "`" and any("`" in piece or "$" in piece for piece in out[start : start + 20]):
        return
    first = out[start]
    out[start] = first[: len(first) - len(first.lstrip())] + mark + first.lstrip()
    last = out[-1].rstrip()
    ending = out[-1][len(last) :]
    out[-1] = last + mark
    if ending:
        out.append(" ")
