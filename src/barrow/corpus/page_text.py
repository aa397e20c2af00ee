"""A web page to text: its main text, or all that can be read on it."""

from __future__ import annotations

from typing import NamedTuple

from barrow.corpus.html_text import html_to_text
from barrow.corpus.page_encoding import decode_page
from barrow.corpus.page_head import page_head
from barrow.corpus.page_main import main_markup, readable_markup
from barrow.corpus.page_tree import page_tree
from barrow.corpus.tidy_text import tidy

__all__ = ["Page", "decode_page", "page_text", "whole_text"]


class Page(NamedTuple):
    """What is read of a web page; `language` is what it says of itself, an ISO 639-1 code."""

    text: str
    title: str
    language: str | None


def page_text(markup: str, *, url: str = "") -> Page:  # noqa: ARG001 - see the docstring
    """The main text of a page, its title and language; never raises.

    Paragraphs, headings, lists, tables and code are written as `html_to_text` writes them; the
    page's title is not part of the text. `url` is there for rules that would know a site; there are
    none.
    """
    head = page_head(markup)
    kept = main_markup(markup, page_tree(markup), title=head.title)
    return Page(tidy(html_to_text(kept)), head.title, head.language)


def whole_text(markup: str) -> Page:
    """All that can be read on a page, menus and notices too; never raises."""
    head = page_head(markup)
    kept = readable_markup(markup, page_tree(markup))
    return Page(tidy(html_to_text(kept)), head.title, head.language)
