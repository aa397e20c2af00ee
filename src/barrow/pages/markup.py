"""HTML built from elements; text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from barrow.pages.escape import escaped, one_line
from barrow.pages.numbers import readable_count, readable_share, readable_size

_VOID = frozenset(["br", "img", "input", "link", "meta"])
_MARKS = re.compile(r"[\\`*_\[\]<>|~#]")


class Markup(str):
    """HTML that is finished."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | None) -> Markup:
    """An element; children are HTML if they are `Markup`, and text otherwise.

    Attributes are written with hyphens for underscores, ``class_`` as ``class``; those that are
    None are left out. The result is well-formed XML, too.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        assert not children, f"{name} is a void element"
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Markup:
    """Children one after the other."""
    return Markup("".join(c if isinstance(c, Markup) else escaped(c) for c in children))


def count(number: int) -> Markup:
    """A number of things."""
    return element("data", readable_count(number), value=str(number))


def size(num_bytes: int) -> Markup:
    """Bytes, rounded; the exact number is in the element and is shown on hovering."""
    exact = f"{num_bytes:,} bytes"
    return element("data", readable_size(num_bytes), value=str(num_bytes), title=exact)


def share(part: float, whole: float) -> Markup:
    """A share in percent."""
    return element("span", readable_share(part, whole), class_="share")


def name(text: str) -> Markup:
    """A name of unknown origin: one line, not too long, and its direction stays inside."""
    return element("bdi", one_line(text))


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    total: Sequence[str] | None = None,
    text: Sequence[int] = (0,),
    extra: Sequence[int] = (),
    class_: str = "figures",
) -> Markup:
    """A table whose first column names the rows; columns not in `text` are numbers.

    Columns in `extra` are left out on small screens. A table can be scrolled sideways, with the
    keyboard too, where it is wider than the page.
    """
    kinds = [
        ("text" if column in text else "number") + (" extra" if column in extra else "")
        for column in range(len(header))
    ]
    head = (
        element("th", title, scope="col", class_=kind)
        for title, kind in zip(header, kinds, strict=True)
    )
    parts = [
        element("caption", caption),
        element("thead", element("tr", *head)),
        element("tbody", *(_row(row, kinds) for row in rows)),
    ]
    if total is not None:
        parts.append(element("tfoot", _row(total, kinds)))
    return element(
        "div",
        element("table", *parts),
        class_=f"scroll {class_}",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def _row(cells: Sequence[str], kinds: Sequence[str]) -> Markup:
    return element(
        "tr",
        element("th", cells[0], scope="row", class_=kinds[0]),
        *(
            element("td", cell, class_=kind)
            for cell, kind in zip(cells[1:], kinds[1:], strict=True)
        ),
    )


def folded(summary: str, *children: str, open_: bool = False) -> Markup:
    """Content that is folded until opened."""
    written = {"open": ""} if open_ else {}
    return element("details", element("summary", summary), *children, **written)


def section(identity: str, title: str, *children: str) -> Markup:
    """A part of the page, with a heading that can be linked to."""
    heading = f"{identity}-heading"
    return element(
        "section",
        element("h2", title, id=heading),
        *children,
        id=identity,
        aria_labelledby=heading,
    )


def paragraph(*children: str, class_: str | None = None) -> Markup:
    """A paragraph."""
    return element("p", *children, class_=class_)


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
