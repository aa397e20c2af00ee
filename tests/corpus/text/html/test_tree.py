from __future__ import annotations

import pytest

from barrow.corpus.text.html.tree import page_tree


def shape(markup: str) -> str:
    """Elements as they contain one another: a(b c)."""
    elements = page_tree(markup)
    inner: dict[int, list[str]] = {}
    for element in reversed(elements):
        parts = inner.get(element.number, [])[::-1]
        told = element.tag + (f"({' '.join(parts)})" if parts else "")
        inner.setdefault(element.parent, []).append(told)
    return inner[0][-1].removesuffix(")")[1:] if len(elements) > 1 else ""


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<div><p>a<p>b</div><i>c</i>", "div(p p) i"),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", "ul(li li(ul(li)))"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "table(tr(td td) tr(td))"),
        ("<a><div>x</a>y</div>", "a(div)"),
        ("<head><meta><div>x</div>", "head(meta) div"),
        ("<div><br><img></div>", "div(br img)"),
        ("<script>'<div>'</script><p>", "script p"),
        ("<!-- <div> --><p></b></p>", "p"),
        ("<DIV CLASS=x>a</Div>", "div"),
    ],
)
def test_what_contains_what(markup: str, expected: str) -> None:
    assert shape(markup) == expected


def test_places_and_sizes() -> None:
    markup = "<div>ab <a href=x>cd</a> <p>efg</p></div>"
    _, div, link, paragraph = page_tree(markup)
    assert markup[div.start : div.end] == markup
    assert markup[paragraph.inner : paragraph.end] == "efg</p>"
    assert (div.own, div.linked, paragraph.own, link.own) == (4, 2, 3, 0)
