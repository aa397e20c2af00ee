"""HTML of books and court opinions, and XML like it, as they would read in print.

On top of `html_to_text`: marks of footnotes are in brackets, in the text and before the note; page
numbers, links back from notes, readings beside characters (ruby) and what is hidden are left out;
block quotes are indented; of images only initials are kept. Invisible characters, such as soft
hyphens, are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from barrow.corpus.text.html.text import html_to_text
from barrow.corpus.text.html.tokens import Tokens, attribute

_QUOTE = "    "
# Soft hyphen, hair space, zero-width space, word joiner.
_UNSEEN = dict.fromkeys((0xAD, 0x200A, 0x200B, 0x2060))

_PAGE_TAGS = frozenset(("page-number", "page_number", "pagenumber", "star_page"))
_PAGE_WORDS = frozenset(
    ("pagebreak", "doc-pagebreak", "star-pagination", "page-label", "page-number", "pagenum")
)
_HIDDEN_TAGS = frozenset(("rt", "rp", "annotation", "annotation-xml"))
_NAVIGATION = frozenset(("docnav", "navheader", "navfooter"))
_BACK_WORDS = frozenset(("backlink", "doc-backlink", "footnote-backref", "reversefootnote"))
_MARK_TAGS = frozenset(("footnotemark", "footnote_reference", "footnote_number"))
_MARK_WORDS = frozenset(("noteref", "doc-noteref", "footnotemark", "footnote", "footnote-ref"))
_NOTE_TAGS = frozenset(("footnote", "footnote_body"))
_NOTE_WORDS = frozenset(("footnote", "endnote", "rearnote", "doc-footnote", "doc-endnote"))
_NOTE_BLOCKS = frozenset(("aside", "div", "p", "section", "dd"))
_VOID = frozenset(("br", "hr", "img", "col", "wbr", "input", "meta", "link", "image", "area"))
_BLOCKS = frozenset(("p", "div", "td", "th", "tr", "li", "h1", "h2", "h3", "h4", "h5", "h6"))
# Elements of the Caselaw Access Project's and Columbia's cases.
_RENAMED = {"block_quote": "blockquote"} | dict.fromkeys(
    (
        *("parties", "court", "docketnumber", "decisiondate", "otherdate", "judges", "attorneys"),
        *("author", "opinion", "syllabus", "headnotes", "disposition", "history", "seealso"),
        *("correction", "summary", "opinion_byline", "opinion_text", "dissent_byline"),
        *("concurrence_byline", "concur_byline", "dissent_text", "concurrence_text"),
        *("casebody", "reporter_caption", "caption", "panel", "docket", "posture", "hearing_date"),
    ),
    "p",
)

_WORDS = re.compile(r"\b(?:class|epub:type|role)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')", re.I)
_UNDISPLAYED = re.compile(r"(?:^|\s)hidden(?:[\s=/]|$)|display:\s*+none", re.I)
_MARK = re.compile(r"[\[(]?((?:\d{1,4}|[*†‡§¶]{1,5}|[A-Za-z]|[ivx]{2,5}))[\])]?\.?")
_BEFORE_MARK = re.compile(r"(?:[^\W\d_]{3}|[^\w\s(\[+=*/^-])\s?$")
_NEAR = 6  # tokens between the tags around a mark
_PAGE_NUMBER = 24


def printed_text(
    markup: str,
    *,
    page_marks: bool = False,
    scene_breaks: bool = False,
    layout_tables: bool = False,
) -> str:
    """The text of a page; with `scene_breaks`, a rule is three asterisks.

    `page_marks` keeps the numbers of printed pages in place, as in ``*123``.
    """
    edit = partial(_edited, page_marks=page_marks, scene_breaks=scene_breaks)
    text = html_to_text(
        markup.translate(_UNSEEN),  # before spaces are normalised
        edit=edit,
        quote=_QUOTE,
        images=False,
        layout_tables=layout_tables,
    )
    return text.translate(_UNSEEN)  # and those that were entities


def _edited(tokens: Tokens, *, page_marks: bool, scene_breaks: bool) -> Tokens:
    return [
        part
        for token in _Edition(tokens, page_marks=page_marks, scene_breaks=scene_breaks).tokens()
        for part in token
    ]


_Token = tuple[str | None, str | None, str | None]


class _Edition:
    """Rewrites the tokens of a page."""

    def __init__(self, tokens: Tokens, *, page_marks: bool, scene_breaks: bool) -> None:
        self._texts = [text or "" for text in tokens[::3]]
        self._tags = [_plain_name(tag) if tag else "" for tag in tokens[1::3]]
        self._attributes = tokens[2::3]
        self._page_marks = page_marks
        self._scene_breaks = scene_breaks
        self._ends: dict[int, int] | None = None
        self._end_tags: dict[int, str] = {}
        self._before = ""  # the last text that was not empty
        self._at_note = False  # only blanks since a note began

    def tokens(self) -> Iterator[_Token]:
        """The tokens to print."""
        at = 0
        while at < len(self._tags):
            text, tag, attributes = self._texts[at], self._tags[at], self._attributes[at] or ""
            if text and not text.isspace():
                self._before, self._at_note = text, False
            if tag.startswith("/"):
                name = self._end_tags.get(at) or _RENAMED.get(tag[1:])
                yield (
                    (f"{text}”", None, None)
                    if tag == "/q"
                    else (text, f"/{name}", "")
                    if name
                    else (text, tag, "")
                )
                at += 1
            elif tag and (attributes or tag not in _BLOCKS):
                yield from self._start(at, text, tag, attributes)
                at = self._next
            else:
                yield text, tag or None, ""
                at += 1

    def _start(self, at: int, text: str, tag: str, attributes: str) -> Iterator[_Token]:
        """A start tag, perhaps with what it encloses."""
        self._next = at + 1
        words = _words(attributes)
        if self._is_left_out(at, tag, attributes, words):
            end = self._end_of(at) if tag not in _VOID else None
            self._next = at + 1 if end is None else end + 1
            yield text, None, None
        elif mark := self._mark(at, tag, words):
            yield f"{text}[{mark}]", None, None
        elif tag in _NOTE_TAGS or (tag in _NOTE_BLOCKS and words & _NOTE_WORDS):
            yield from self._note(at, text, attributes)
        elif tag == "hr" and self._scene_breaks:
            yield text, "p", ""
            yield "* * *", "p", ""
        elif tag == "img":
            initial = attribute(attributes, "alt").strip()
            yield text + (initial if len(initial) <= 2 else ""), None, None
        elif tag == "q":
            yield f"{text}“", None, None
        elif attributes.endswith("/") and tag not in _VOID and tag not in _BLOCKS:
            yield text, None, None  # an empty element, in XML's syntax
        elif tag == "citation" and "id" in attributes:
            yield text, self._renamed(at, "p"), ""
        else:
            yield text, _RENAMED.get(tag, tag), attributes

    def _is_left_out(self, at: int, tag: str, attributes: str, words: frozenset[str]) -> bool:
        if tag in _HIDDEN_TAGS or words & _NAVIGATION or _UNDISPLAYED.search(attributes):
            return tag not in ("html", "body")
        if words & _BACK_WORDS:
            return len(self._enclosed(at) or "") <= _PAGE_NUMBER
        if tag in _PAGE_TAGS or words & _PAGE_WORDS:
            # Some put the class on a whole chapter that begins on a new page.
            enclosed = "" if attributes.endswith("/") else self._enclosed(at)
            return not self._page_marks and enclosed is not None and len(enclosed) <= _PAGE_NUMBER
        return False

    def _mark(self, at: int, tag: str, words: frozenset[str]) -> str:
        """The mark of a note that begins here; empty if none does."""
        if tag not in ("a", "sup", "span") and tag not in _MARK_TAGS:
            return ""
        enclosed = self._enclosed(at)
        found = _MARK.fullmatch(enclosed) if enclosed else None
        if found is None or enclosed is None:
            return ""
        is_plain_sup = tag == "sup" and "a" not in self._tags[at : at + _NEAR]
        is_mark = (
            tag in _MARK_TAGS
            or (tag == "span" and bool(words & _MARK_WORDS))
            or (tag == "a" and bool(self._at_note or words & _MARK_WORDS or self._is_raised(at)))
            or (tag == "sup" and not is_plain_sup and "a" in self._tags[at : self._next_end(at)])
            or (is_plain_sup and found[1].isdigit() and self._may_have_mark())
        )
        if not is_mark:
            return ""
        self._next = self._next_end(at) + 1
        self._before, self._at_note = "]", False
        return found[1]

    def _may_have_mark(self) -> bool:
        """Whether a raised number here is a note's: not an exponent of what is before it."""
        return self._at_note or _BEFORE_MARK.search(self._before) is not None

    def _is_raised(self, at: int) -> bool:
        around = self._tags[max(0, at - 1) : at] + self._tags[at + 1 : at + 2]
        return "sup" in around

    def _next_end(self, at: int) -> int:
        name = f"/{self._tags[at]}"
        return self._tags.index(name, at, at + _NEAR)

    def _enclosed(self, at: int) -> str | None:
        """The text of an element that ends soon; None if it does not."""
        near = self._tags[at + 1 : at + _NEAR]
        try:
            num = near.index(f"/{self._tags[at]}") + 1
        except ValueError:
            return None
        return "".join(self._texts[at + 1 : at + 1 + num]).strip()

    def _note(self, at: int, text: str, attributes: str) -> Iterator[_Token]:
        yield text, self._renamed(at, "*note"), ""
        if label := attribute(attributes, "label").strip(" ."):
            self._take_label(at + 1, label)
            yield f"[{label}] ", None, None
        self._at_note = True

    def _take_label(self, at: int, label: str) -> None:
        """Remove a note's label from its text, if it is there too."""
        for near in range(at, min(at + _NEAR, len(self._texts))):
            if start := self._texts[near].lstrip(" \n\t[("):
                if start.startswith(label) and not start[len(label) : len(label) + 1].isalnum():
                    self._texts[near] = start[len(label) :].lstrip(" .])")
                return

    def _renamed(self, at: int, name: str) -> str:
        end = self._end_of(at)
        if end is not None:
            self._end_tags[end] = name
        return name

    def _end_of(self, at: int) -> int | None:
        """Where the element that begins there ends; None if it does not."""
        if self._ends is None:
            self._ends = _ends(self._tags, self._attributes)
        return self._ends.get(at)


def _plain_name(tag: str) -> str:
    name = tag.lower()
    if ":" in name:
        return ("/" if name[0] == "/" else "") + name.rpartition(":")[2]
    return name


def _words(attributes: str) -> frozenset[str]:
    if "=" not in attributes:
        return frozenset()
    found = _WORDS.findall(attributes)
    return frozenset(" ".join(one or other for one, other in found).lower().split())


def _ends(tags: list[str], attributes: Tokens) -> dict[int, int]:
    """Start to end of each element that has an end."""
    ends: dict[int, int] = {}
    waiting: dict[str, list[int]] = {}
    for at, tag in enumerate(tags):
        if tag.startswith("/"):
            if starts := waiting.get(tag[1:]):
                ends[starts.pop()] = at
        elif tag and not (attributes[at] or "").endswith("/"):
            waiting.setdefault(tag, []).append(at)
    return ends
