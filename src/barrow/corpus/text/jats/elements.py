"""The roles of the elements of JATS, and of NLM's earlier formats."""

from __future__ import annotations

import re

# Left out with their contents: descriptions of files, rights, people.
SKIPPED = (
    *("alt-text", "long-desc", "object-id", "permissions", "media", "sec-meta", "kwd-group"),
    *("contrib-group", "contrib", "aff", "author-notes", "related-article", "related-object"),
    *("index-term", "processing-meta", "private-char", "front", "counts", "bio", "article-id"),
    *("trans-abstract", "trans-title", "trans-title-group", "alt-title", "colgroup", "history"),
    *("article-categories", "funding-group", "custom-meta-group", "pub-date", "elocation-id"),
)
# Notes on authors, funding and competing interests.
DROPPED_NOTES = frozenset(
    [
        *("con", "conflict", "COI-statement", "coi-statement", "financial-disclosure", "equal"),
        *("supported-by", "corresp", "present-address", "current-aff", "deceased", "presented-at"),
        *("participating-researchers", "presented-by", "previously-at", "study-group-members"),
    ]
)
# Elements whose title is a heading.
HEADED = frozenset(
    [
        *("sec", "app", "abstract", "ack", "glossary", "notes", "ref-list", "sub-article"),
        *("response", "boxed-text", "fn-group", "app-group"),
    ]
)
# Elements with a label and a caption.
CAPTIONED = frozenset(
    ["fig", "table-wrap", "supplementary-material", "fig-group", "table-wrap-group"]
)
CONTAINERS = (
    *sorted(HEADED),
    *sorted(CAPTIONED),
    *("caption", "list", "list-item", "def-list", "disp-quote", "fn", "ref", "statement"),
)
# These may be in the middle of a sentence, but are not part of it.
FLOATS = frozenset(["fig", "table-wrap", "fig-group", "table-wrap-group", "boxed-text", "fn"])
# Written after each field of a reference that has no punctuation.
FIELDS = {"surname": " ", "given-names": ", ", "collab": ", ", "year": ". ", "article-title": ". "}
FIELDS |= {"source": ". ", "volume": ": ", "fpage": "-", "lpage": ". ", "publisher-name": ". "}
# The description of a supplementary file: (0.06 MB DOC)
FORMAT = re.compile(r"\((?:[\d.]{1,9} ?[KMG]B )?[A-Z0-9]{2,5}\)\.?")

_NUMERALS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")


def bullet(kind: str, number: int) -> str:
    """What begins an item of a list of that type."""
    form, _, case = kind.partition("-")
    text = ""
    if kind == "order":
        text = str(number)
    elif form == "alpha" and number <= 26:
        text = chr(ord("a") + number - 1)
    elif form == "roman" and number <= len(_NUMERALS):
        text = _NUMERALS[number - 1]
    return f"{text.upper() if case == 'upper' else text}. " if text else "- "
