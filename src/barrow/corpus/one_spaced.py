"""A line of text with one space between its words."""

from __future__ import annotations

from barrow.corpus.tidy_text import tidy


def one_spaced(text: str) -> str:
    """The words of a text with one space between them, without control characters.

    No-break and other spaces are spaces, and so are line ends.
    """
    text = text.replace("\n", " ").strip(" ")
    # Most text is so already. Controls, and white characters but the space, are not printable.
    if "  " not in text and text.isprintable():
        return text
    text = " ".join(text.split())
    return text if text.isprintable() else " ".join(tidy(text).split())
