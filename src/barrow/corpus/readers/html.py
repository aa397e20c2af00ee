"""HTML files of any kind: documentation, books, saved pages. A file is a document.

All text of the page is kept; with ``main=True`` its main text only, without menus, notices and
comments (`page_text`). `meta` has the title, the address the page gives for itself, and the
language it says it is in.

Licence: stated by the recipe; a link of the page (``rel=license``) is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.html.head import page_head
from barrow.corpus.text.html.page import Extract, page_text, whole_text
from barrow.corpus.text.html.stored import PACKED, load_page


@dataclass(frozen=True)
class Html(Reader):
    """HTML pages: all readable text; with `main` only the main text, without navigation.

    `extract` replaces our extraction. Reasons: those of `load_page`, ``too-short``.
    """

    main: bool = False
    min_characters: int = 1
    max_bytes: int = 1 << 26
    extract: Extract | None = None

    extractor = "html/2"
    patterns = tuple(
        f"**/*.{kind}{packed}" for kind in ("html", "htm", "xhtml") for packed in PACKED
    )

    def read(self, path: Path) -> Iterator[Item]:
        markup, reject = load_page(path, max_bytes=self.max_bytes)
        if reject is not None:
            yield reject
        if not markup:
            return
        url = page_head(markup).url
        if self.main or self.extract is not None:
            page = page_text(markup, url=url, extract=self.extract)
        else:
            page = whole_text(markup)
        if len(page.text) < self.min_characters:
            cause = page.cause or f"{len(page.text)} characters, fewer than {self.min_characters}"
            yield Reject("too-short", cause, "", excerpt(markup))
            return
        meta = {"title": page.title, "url": url, "language": page.language}
        yield Document(page.text, {key: value for key, value in meta.items() if value})
