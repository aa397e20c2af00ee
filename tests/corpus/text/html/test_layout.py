from __future__ import annotations

import pytest

from barrow.corpus.text.html.layout import layout_parts
from barrow.corpus.text.html.tree import page_tree

LONG = "Long ago the people of the valley heaped up earth and stones over the graves. " * 3


@pytest.mark.parametrize(
    ("markup", "parts"),
    [
        ("<table><tr><td>Year<td>1890<tr><td>Depth<td>2 m</table>", []),
        (f"<table><tr><th>Note<tr><td>{LONG}</table>", []),
        (f"<table><caption>Finds</caption><tr><td>{LONG}<td>1</table>", []),
        ("<table><tr><td>1<td>2</table>", []),
        ("<table role='presentation'><tr><td>1<td>2</table>", ["table", "tr", "td", "td"]),
        (f"<table><tr><td>{LONG}<td>2</table>", ["table", "tr", "td", "td"]),
        ("<table><tr><td>1<td><h2>2</h2></table>", ["table", "tr", "td", "td"]),
        # Data inside layout stays data.
        ("<table><tr><td><table><tr><th>1<td>2</table></table>", ["table", "tr", "td"]),
    ],
)
def test_tables_of_layout(markup: str, parts: list[str]) -> None:
    elements = page_tree(markup)
    found = layout_parts(elements)
    assert [e.tag for e, is_layout in zip(elements, found, strict=True) if is_layout] == parts
