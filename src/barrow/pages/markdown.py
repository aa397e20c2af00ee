"""Tables and sentences in markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MARKS = re.compile(r"[\\`*_\[\]<>|~#]")


def markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, text: Sequence[int] = (0,)
) -> str:
    """A table of cells that are markdown already; columns not in `text` are aligned right."""
    if not rows:
        return "None."
    rule = ["---" if column in text else "--:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def sentence(text: str) -> str:
    """A sentence of plain text, escaped for markdown."""
    return _MARKS.sub(lambda found: f"\\{found[0]}", text)
