"""A web page to text: its main text, or all that can be read on it."""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from barrow.corpus.build.limits import TooSlow
from barrow.corpus.text.html.encoding import decode_page
from barrow.corpus.text.html.formulas import with_tex
from barrow.corpus.text.html.head import page_head
from barrow.corpus.text.html.main import main_markups, readable_markup
from barrow.corpus.text.html.text import html_to_text
from barrow.corpus.text.html.tree import page_tree
from barrow.corpus.text.whitespace import tidy

__all__ = ["Extract", "Page", "decode_page", "page_text", "whole_text"]

# Less text than this, in characters, is looked for again with looser rules.
_ENOUGH = 250
# A link of a sign only, or to an editor, in brackets.
_ANCHOR = re.compile(
    r"""<a\s[^<>]*+>\s*+(?:[¶#§🔗]|&para;|&sect;|&\#182;|&\#xb6;)\s*+</a\s*+>
    | \[\s*+<a\s[^<>]*?\baction=edit\b[^<>]*+>[^<>]*+</a\s*+>\s*+\]""",
    re.IGNORECASE | re.VERBOSE,
)


class Page(NamedTuple):
    """The text of a page; `language` is the one it declares, an ISO 639-1 code.

    `cause` says why there is no text, where that is known.
    """

    text: str
    title: str
    language: str | None
    cause: str = ""


class Extract(Protocol):
    """Replaces our extraction of the main text: a function or a callable object.

    It is given the decoded markup and the page's address (empty if unknown), and returns the text;
    None or an empty text if there is none.
    """

    def __call__(self, html: str, url: str, /) -> str | None:
        """The text of a page."""


def page_text(markup: str, *, url: str = "", extract: Extract | None = None) -> Page:
    """The main text of a page, its title and language; never raises.

    Paragraphs, headings, lists, tables and code are written as `html_to_text` writes them; the
    page's title is not part of the text. With `extract`, the text is its result, unchanged.
    """
    head = page_head(markup)
    if extract is not None:
        try:
            return Page(extract(markup, url) or "", head.title, head.language)
        except (MemoryError, TooSlow):
            raise
        except Exception as error:  # noqa: BLE001 - a fault of one page, not of all in its file
            return Page("", head.title, head.language, f"extract: {type(error).__name__}: {error}")
    markup = with_tex(markup)
    text = ""
    for kept in main_markups(markup, page_tree(markup), title=head.title):
        found = _text(kept)
        if len(found) > 2 * len(text):
            text = found
        if len(text) >= _ENOUGH:
            break
    return Page(text, head.title, head.language)


def whole_text(markup: str) -> Page:
    """All that can be read on a page, menus and notices too; never raises."""
    head = page_head(markup)
    markup = with_tex(markup)
    return Page(_text(readable_markup(markup, page_tree(markup))), head.title, head.language)


def _text(markup: str) -> str:
    """Text without soft hyphens, and without the marks at headings that link to themselves."""
    return tidy(html_to_text(_ANCHOR.sub("", markup))).replace("\xad", "")
