"""A line of text with one space between its words."""

from __future__ import annotations

from barrow.corpus.tidy_text import tidy

try:
    from barrow.corpus import _spaces
except ImportError:  # built without a compiler
    _spaces = None  # type: ignore[assignment]


def one_spaced(text: str) -> str:
    """The words of a text with one space between them, without control characters.

    No-break and other spaces are spaces, and so are line ends.
    """
    if _spaces is not None and (spaced := _spaces.one_spaced(text)) is not None:
        return spaced
    return general_one_spaced(text)


def general_one_spaced(text: str) -> str:
    """The same for any text, also where nothing was compiled."""
    text = text.replace("\n", " ").strip(" ")
    # Most text is so already. Controls, and white characters but the space, are not printable.
    if "  " not in text and text.isprintable():
        return text
    text = " ".join(text.split())
    return text if text.isprintable() else " ".join(tidy(text).split())
