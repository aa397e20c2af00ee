"""Markdown as it is being written: pieces, paragraphs, notes, and code kept aside to the end."""

from __future__ import annotations

import re

from barrow.corpus.text.latex.symbols import typeset
from barrow.corpus.text.whitespace import tidy

# Noncharacters: they are removed from every source before it is read.
ITEM, CELL, ROW, CODE = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"


def list_block(marked: str, bullet: str) -> str:
    """Items after marks as a list; text before the first mark comes before the list."""
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
    """The text with all lines but the first indented."""
    return text.replace("\n", "\n" + by).replace("\n" + by + "\n", "\n\n") if "\n" in text else text


def quote_block(text: str) -> str:
    """The text as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


def table_block(marked: str) -> str:
    """Rows and cells after marks as a table; the first row is its header."""
    rows = [[" ".join(cell.split()) for cell in row.split(CELL)] for row in marked.split(ROW)]
    rows = [row for row in rows if any(row)]
    if not rows:
        return ""
    width = min(max(len(row) for row in rows), 200)
    if width == 1:
        return "\n\n".join(row[0] for row in rows)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + "---|" * width)
    return "\n".join(lines)


BLANKS = re.compile(r"\s++")
_CODE_PLACE = re.compile(rf"^([ >]*+)(- |[0-9]++\. )?{CODE}([0-9]+){CODE}$", re.MULTILINE)


class Output:
    """Pieces of text in order. Blanks are collapsed, and dropped at a paragraph's beginning."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.code: list[str] = []
        self.notes: list[str] = []
        self.fresh = True  # nothing in this line yet
        self.breaks = 0  # how many paragraphs were ended
        self.tables = 0  # how many tables are open: inside them a paragraph's end is a blank

    def text(self, text: str) -> None:
        text = text.replace("\n", " ").replace("~", " ")
        if "  " in text or not text.isprintable():  # other blanks are not printable
            words = " ".join(text.split())
            after = " " if words and text[-1].isspace() else ""
            text = (" " if text[0].isspace() else "") + words + after
        text = typeset(text)
        if text[0] == " " and (self.fresh or self.ends_blank()):
            text = text[1:]
        if text:
            self.out.append(text)
            self.fresh = False

    def ends_blank(self) -> bool:
        for piece in reversed(self.out[-8:]):
            if piece:
                return piece[-1] in " \n"
        return False

    def put(self, text: str) -> None:
        if text:
            self.out.append(text)
            self.fresh = False

    def space(self) -> None:
        if not self.fresh and not self.ends_blank():
            self.out.append(" ")

    def line(self) -> None:
        if not self.fresh:
            self.out.append("\n")
            self.fresh = True

    def paragraph(self) -> None:
        if self.tables:
            self.space()
            return
        if self.out and self.out[-1] != "\n\n":
            self.out.append("\n\n")
        self.fresh = True
        self.breaks += 1

    def block(self, text: str) -> None:
        self.paragraph()
        self.put(text)
        self.paragraph()

    def taken(self, start: int) -> str:
        """Take back what was written since."""
        text = "".join(self.out[start:])
        del self.out[start:]
        return text

    def finished(self) -> str:
        notes = [f"[^{k}]: {note}" for k, note in enumerate(self.notes, 1) if note]
        text = tidy("\n\n".join(["".join(self.out), *notes])).strip()
        for mark in (CELL, ROW, ITEM):
            text = text.replace(mark, " ")
        return _CODE_PLACE.sub(self.code_at, text) if self.code else text

    def code_at(self, found: re.Match[str]) -> str:
        lines = self.code[int(found[3])].split("\n")
        before = found[1] + (found[2] or "")
        inside = found[1] + " " * len(found[2] or "")
        return "\n".join([before + lines[0], *((inside + line).rstrip() for line in lines[1:])])

    def code_block(self, code: str) -> None:
        """Lines of code, which are not edited like text."""
        lines = [line.rstrip() for line in code.expandtabs(4).split("\n")]
        body = "\n".join(lines).strip("\n")
        fence = "```" if "```" not in body else "~~~~"
        self.block(f"{CODE}{len(self.code)}{CODE}")
        self.code.append(f"{fence}\n{body}\n{fence}")
