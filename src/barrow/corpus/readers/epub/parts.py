"""Which files of a book are its text, which are not, and in which order they come."""

from __future__ import annotations

import re
from collections.abc import Iterable

from barrow.corpus.readers.epub.package import resolved
from barrow.corpus.text.html.tokens import attribute, html_tokens

# Front and back matter, in the usual order.
_FRONT = (
    *("cover", "titlepage", "title", "halftitle", "halftitlepage", "imprint", "copyright"),
    *("dedication", "epigraph", "contents", "toc", "foreword", "preface", "acknowledgements"),
    *("acknowledgments", "introduction", "dramatispersonae", "prologue"),
)
_BACK = (
    *("epilogue", "afterword", "conclusion", "postscript", "appendix", "endnotes", "footnotes"),
    *("notes", "glossary", "bibliography", "index", "abouttheauthor", "colophon", "uncopyright"),
)
_NOT_TEXT = {
    **dict.fromkeys(("cover", "coverpage", "wrap"), "cover"),
    **dict.fromkeys(("toc", "nav", "contents", "tableofcontents", "landmarks"), "contents"),
    **dict.fromkeys(("halftitle", "halftitlepage"), "half title"),
    **dict.fromkeys(("imprint", "copyright", "copyrightpage", "license", "licence"), "imprint"),
    **dict.fromkeys(("uncopyright", "legal", "legalnotice", "pgfooter", "pgheader"), "licence"),
    **dict.fromkeys(("colophon", "alsoby", "newsletter", "newslettersignup"), "colophon"),
}
_TYPES = {
    **dict.fromkeys(("cover", "coverpage"), "cover"),
    **dict.fromkeys(("toc", "nav", "landmarks", "loi", "lot", "page-list"), "contents"),
    **dict.fromkeys(("halftitlepage", "halftitle"), "half title"),
    **dict.fromkeys(("imprint", "copyright-page"), "imprint"),
    **dict.fromkeys(("colophon", "doc-colophon", "doc-cover", "doc-toc"), "colophon"),
}
_NOTES = re.compile(r"(?:end|foot|rear)?notes?\b", re.IGNORECASE)
_NUMBER = re.compile(r"(\d+)")
_LETTERS = re.compile(r"[^a-z]")
_TYPED = re.compile(r"<(?:body|section|article|div|nav)\b[^<>]*?epub:type=\"([^\"]*+)\"")
_COPYRIGHT_WORDS = (
    re.compile(r"all rights reserved", re.IGNORECASE),
    re.compile(r"\bISBN\b"),
    re.compile(
        r"(?:©|\(c\)|copyright)\s++(?:©\s*+)?(?:by\s)?.{0,40}\b(?:19|20)\d\d\b", re.IGNORECASE
    ),
    re.compile(r"library of congress|british library", re.IGNORECASE),
    re.compile(r"no part of this (?:book|publication)", re.IGNORECASE),
    re.compile(r"\b(?:first published|published by|printed in)\b", re.IGNORECASE),
)
_SHORT_PAGE = 4000


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts ``chapter-2`` before ``chapter-10``."""
    return [
        (0, int(part[:18]), "") if part.isdecimal() and part.isascii() else (1, 0, part)
        for part in _NUMBER.split(name.lower())
        if part
    ]


def plain_stem(name: str) -> str:
    """The letters of a file's name, without folders and ending."""
    return _LETTERS.sub("", name.rpartition("/")[2].rpartition(".")[0].lower())


def in_order(names: Iterable[str], listed: Iterable[str] = ()) -> list[str]:
    """Names of files in the order of a book.

    Those listed in a table of contents come in its order; others in natural order, before or after
    them according to their names.
    """
    places = {name: place for place, name in reversed(list(enumerate(listed)))}

    def key(name: str) -> tuple[int, int, list[tuple[int, int, str]]]:
        stem = plain_stem(name)
        if name in places:
            return 1, places[name], []
        if stem in _FRONT:
            return 0, _FRONT.index(stem), natural_key(name)
        if stem in _BACK or stem.removesuffix("s") in _BACK or stem.startswith("appendix"):
            known = next((at for at, back in enumerate(_BACK) if stem.startswith(back)), len(_BACK))
            return 2, known, natural_key(name)
        return 1, len(places), natural_key(name)

    return sorted(names, key=key)


def links_of(contents: str, place: str) -> list[str]:
    """The files that a table of contents links to, in its order."""
    folder = place.rpartition("/")[0]
    tokens = html_tokens(contents)
    links = [
        attribute(attributes or "", "href" if tag == "a" else "src")
        for tag, attributes in zip(tokens[1::3], tokens[2::3], strict=True)
        if tag in ("a", "content")
    ]
    return list(dict.fromkeys(resolved(folder, link) for link in links if link))


def is_notes(name: str, markup: str) -> bool:
    """Whether a file has notes, by its name or its markup."""
    words = " ".join(_TYPED.findall(markup[:4000]))
    return _NOTES.search(words) is not None or _NOTES.search(name.rpartition("/")[2]) is not None


def boilerplate(name: str, markup: str, text: str, role: str) -> str:
    """The kind of a file that is not part of the book's text; else empty."""
    stem = plain_stem(name)
    typed = _TYPED.search(markup[:4000])
    words = typed[1].lower().split() if typed else []
    second = _TYPED.search(markup, typed.end(), typed.end() + 2000) if typed else None
    words += second[1].lower().split() if second else []
    found = (
        _NOT_TEXT.get(stem) or _TYPES.get(role) or next(filter(None, map(_TYPES.get, words)), "")
    )
    if found:
        return found
    if len(text) < _SHORT_PAGE and sum(bool(word.search(text)) for word in _COPYRIGHT_WORDS) >= 3:
        return "imprint"
    return "contents" if _is_of_links(markup, text) else ""


def _is_of_links(markup: str, text: str) -> bool:
    """Whether nearly all of a page is links to other pages, as in a table of contents."""
    if markup.count("href=") < 5 or len(text) > 50_000:
        return False
    linked, inside = 0, False
    tokens = html_tokens(markup)
    for words, tag, attributes in zip(tokens[::3], tokens[1::3], tokens[2::3], strict=True):
        linked += len("".join((words or "").split())) if inside else 0
        if tag == "a":
            inside = "#" in (link := attribute(attributes or "", "href")) or "html" in link
        elif tag == "/a":
            inside = False
    return linked * 10 > 8 * len("".join(text.split()))
