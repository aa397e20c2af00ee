"""Tables that arrange a page instead of holding data."""

from __future__ import annotations

import re

from barrow.corpus.text.html.tree import Element

_PARTS = frozenset(["table", "tr", "td", "th"])
_OF_DATA = frozenset(["th", "caption", "thead", "colgroup"])
_OF_LAYOUT = frozenset(
    ["table", "form", "ul", "ol", "dl", "pre", "nav", "h1", "h2", "h3", "h4", "h5", "h6", "hr"]
)
_ROLE = re.compile(r"""\brole\s*+=\s*+["']?(?:presentation|none)\b""", re.IGNORECASE)
# Characters of a cell that is not data, and of one that is not if there is only one row.
_PARAGRAPH = 200
_LINE = 60


def layout_parts(elements: list[Element]) -> bytearray:
    """For each element, whether it is a table, row or cell that arranges the page.

    A table of data has headings or a caption, or short cells in rows and columns. One of layout
    says so, or has one row with whole lines in it, or holds tables, lists, headings, code or long
    paragraphs.
    """
    table_of = [0] * len(elements)  # the innermost table around each element, 0 without one
    rows, longest = [0] * len(elements), [0] * len(elements)
    is_data, is_layout = bytearray(len(elements)), bytearray(len(elements))
    for element in elements[1:]:
        number, tag = element.number, element.tag
        table = table_of[element.parent]
        table_of[number] = number if tag == "table" else table
        if tag == "table" and _ROLE.search(element.attributes):
            is_layout[number] = 1
        if not table:
            continue
        if tag == "tr":
            rows[table] += 1
        if tag in _OF_DATA:
            is_data[table] = 1
        elif tag in _OF_LAYOUT:
            is_layout[table] = 1
        longest[table] = max(longest[table], element.own - element.linked)
    found = bytearray(len(elements))
    if not any(table_of):
        return found
    for element in elements:
        table = table_of[element.number]
        if element.tag in _PARTS and table:
            is_long = longest[table] > (_PARAGRAPH if rows[table] > 1 else _LINE)
            found[element.number] = not is_data[table] and (is_layout[table] or is_long)
    return found
