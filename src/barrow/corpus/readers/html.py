"""HTML files of any kind: documentation, books, saved pages. A file is a document.

Kept is all that can be read on the page; with ``main=True`` its main text only, without menus,
notices and comments (`page_text`). `meta` has the title, the address the page gives for itself,
and the language it says it is in.

Licence: what the page links to as its licence (``rel=license``) is not looked at; a recipe states
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.page_head import page_head
from barrow.corpus.page_text import page_text, whole_text
from barrow.corpus.reading import Item, Reader, Reject, excerpt
from barrow.corpus.stored_page import PACKED, load_page


def read(
    path: Path, *, main: bool = False, min_characters: int = 1, max_bytes: int = 1 << 26
) -> Iterator[Item]:
    """The document of a page. Reasons: those of `load_page`, ``too-short``."""
    markup, reject = load_page(path, max_bytes=max_bytes)
    if reject is not None:
        yield reject
    if not markup:
        return
    page = page_text(markup) if main else whole_text(markup)
    if len(page.text) < min_characters:
        cause = f"{len(page.text)} characters, fewer than {min_characters}"
        yield Reject("too-short", cause, "", excerpt(markup))
        return
    meta = {"title": page.title, "url": page_head(markup).url, "language": page.language}
    yield Document(page.text, {key: value for key, value in meta.items() if value})


READER = Reader(
    name="html",
    version=1,
    read=read,
    patterns=tuple(
        f"**/*.{kind}{packed}" for kind in ("html", "htm", "xhtml") for packed in PACKED
    ),
)
