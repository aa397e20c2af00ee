"""Lists, quotations and tables of markdown, from text with marks in it."""

from __future__ import annotations

import re

# Code points that are no characters: they are taken out of every source before it is read.
ITEM, CELL, ROW, CODE = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
_BLANKS = re.compile(r"\s++")


def list_block(marked: str, bullet: str) -> str:
    """Items behind marks as a list; what stands before the first mark comes before it."""
    before, *items = marked.split(ITEM)
    lines = [before.strip()] if before.strip() else []
    number = 0
    for item in items:
        item = item.strip()
        if not item:
            continue
        number += 1
        sign = f"{number}. " if bullet == "1." else f"{bullet} "
        lines.append(sign + indented(item, " " * len(sign)))
    loose = any("\n\n" in item.strip() for item in items)
    return ("\n\n" if loose or before.strip() else "\n").join(lines)


def indented(text: str, by: str) -> str:
    """The text with all lines but the first moved in."""
    return text.replace("\n", "\n" + by).replace("\n" + by + "\n", "\n\n") if "\n" in text else text


def quote_block(text: str) -> str:
    """The text as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


def table_block(marked: str) -> str:
    """Rows and cells behind marks as a table; the first row is its head."""
    rows = [
        [_BLANKS.sub(" ", cell).strip() for cell in row.split(CELL)] for row in marked.split(ROW)
    ]
    rows = [row for row in rows if any(row)]
    if not rows:
        return ""
    width = min(max(len(row) for row in rows), 200)
    if width == 1:
        return "\n\n".join(row[0] for row in rows)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + "---|" * width)
    return "\n".join(lines)
