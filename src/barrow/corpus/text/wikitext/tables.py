"""Tables of wikitext and HTML: left out, or as rows one can read."""

from __future__ import annotations

import re

from barrow.corpus.text.wikitext.marks import GONE

# A heading is never inside a table: it ends those that were not closed.
_EDGE = re.compile(r"\n(?:[ \t:*#]*+(\{\|).*+|[ \t]*+(\|\})|(==).*+)|<(/?(?i:table))\b[^<>]*+>")
_BULLETS = "*#:; "
_CELLS = re.compile(r"\|\|")
_HEADER_CELLS = re.compile(r"\|\||!!")
_ATTRIBUTES = re.compile(r"[^|\[\]\n]*+\|(?!\|)")
_IS_ATTRIBUTES = re.compile(r"\s*+(?:[\w-]++\s*+=|\Z|nowrap\s*+\Z)", re.IGNORECASE)
_HTML = ("<table", "<TABLE", "<Table")
_HTML_CAPTION = re.compile(r"<(/?)caption\b[^<>]*+>", re.IGNORECASE)
_HTML_CELL = re.compile(r"</?(?:td|th)\b[^<>]*+>", re.IGNORECASE)
_HTML_ROW = re.compile(r"</?tr\b[^<>]*+>", re.IGNORECASE)


def without_tables(text: str, *, as_rows: bool) -> str:
    """Text without tables, or with their rows, `` | `` between cells.

    A table inside another is dropped with it; as rows, its rows are among the other's.
    """
    if "{|" not in text and not any(mark in text for mark in _HTML):
        return text
    text = f"\n{text}"
    parts: list[str] = []
    depth = at = 0
    for edge in _EDGE.finditer(text):
        kind = edge[1] or edge[2] or edge[3] or edge[4].lower()
        if kind in ("{|", "table"):
            if not depth:
                parts.append(text[at : edge.start()])
                at = edge.end()
            depth += 1
        elif depth:
            depth = 0 if kind == "==" else depth - 1
            if not depth:
                parts.append(_table(text[at : edge.start()], as_rows))
                at = edge.start() if kind == "==" else edge.end()
    parts.append(_table(text[at:], as_rows) if depth else text[at:])
    return "".join(parts)


def _table(source: str, as_rows: bool) -> str:
    if not as_rows:
        return f"{GONE}\n"
    if "<" in source:
        source = _HTML_CAPTION.sub(lambda tag: "\n" if tag[1] else "\n|+", source)
        source = _HTML_CELL.sub("\n|", _HTML_ROW.sub("\n|-\n", source))
    rows: list[list[list[str]]] = [[]]  # each a list of cells, those lists of lines
    for line in source.split("\n"):
        line = line.strip()
        if line.startswith(("|-", "{|", "|}")):
            rows.append([])
        elif line.startswith("|+"):
            rows.append([[_cell(line[2:])]])
            rows.append([])
        elif line.startswith(("|", "!")):
            separators = _HEADER_CELLS if line[0] == "!" else _CELLS
            rows[-1].extend([_cell(cell)] for cell in separators.split(line[1:]))
        elif rows[-1]:
            rows[-1][-1].append(line.lstrip(_BULLETS))
    cells = ([" ".join(filter(None, cell)) for cell in row] for row in rows)
    lines = [" | ".join(filter(None, row)) for row in cells]
    # A bullet keeps each row on its own line until lines are joined.
    return "\n\n" + "\n".join(f":{line}" for line in lines if line) + "\n\n"


def _cell(source: str) -> str:
    attributes = _ATTRIBUTES.match(source)
    if attributes and _IS_ATTRIBUTES.match(attributes[0][:-1]):
        source = source[attributes.end() :]
    return source.replace(GONE, "").strip().lstrip(_BULLETS)
