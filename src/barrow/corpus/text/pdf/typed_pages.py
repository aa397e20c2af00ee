"""Typed pages as running text: opinions and reports as they come out of a PDF or a scanner.

Lines are joined to paragraphs; running heads, page numbers and the line numbers of pleading paper
are removed; footnotes, below a rule, are moved to the end. Several indented lines stay so, as a
block quote.
"""

from __future__ import annotations

import re
from collections import Counter
from statistics import median
from typing import NamedTuple

_QUOTE = "    "
_PAGE_NUMBER = re.compile(
    r"[-–—\s]*+(?:page\s++)?(?:\d{1,4}|[ivxl]{1,6})(?:\s++of\s++\d{1,4})?[-–—.\s]*+", re.IGNORECASE
)
_RULE = re.compile(r"\s*+[_\-–—]{5,}+\s*+")
_NOTE = re.compile(r"\s*+(?:\[?\d{1,3}\]?|[*†‡]{1,3})[.)]?\s")
_LINE_NUMBER = re.compile(r"\s{0,3}(\d{1,2})(?:\s++|$)")
_DIGITS = re.compile(r"\d++")
_LIST_ITEM = re.compile(r"(?:[-•*·]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])\s")
_HYPHENATED = re.compile(r"[^\W\d_]++-$")
_FIRST_WORD = re.compile(r"[^\W\d_]++")
_COMPOUND = re.compile(r"[^\W\d_]++-[^\W\d_]++")
_ENDS = (".", ":", "?", "!", '."', ".”", ".)", ".’", ".'", ";")
_LONG = 200
_EDGE = 3  # lines at the top and bottom of a page that may be its header or footer


class _Line(NamedTuple):
    """A line's indentation and words, and how many blank lines come before it."""

    indent: int
    text: str
    gap: int


def unpaged(text: str) -> str:
    """Paragraphs, a blank line between them, of text in lines and pages (a form feed ends one)."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(8)
    if _is_running(text):
        return "\n\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))
    pages = [page.split("\n") for page in text.split("\f")]
    pages = [_without_line_numbers(page) for page in pages]
    pages = _without_heads(pages)
    notes: list[str] = []
    body: list[_Line] = []
    margins = _common_spacing(pages)
    for page in pages:
        kept, note = _split_notes(page)
        body += _lines(kept, is_double=margins, is_first=not body)
        notes += [*note, ""] if note else []
    compounds = set(_COMPOUND.findall(text))
    paragraphs = _paragraphs(body, compounds)
    paragraphs += _paragraphs(_lines(notes, is_double=False, is_first=True), compounds)
    return "\n\n".join(paragraphs)


def _is_running(text: str) -> bool:
    """Whether most of the text is in lines too long to be lines of a page."""
    long = sum(len(line) for line in text.split("\n") if len(line) > _LONG)
    return 2 * long > len(text)


# Pages ----------------------------------------------------------------------------------------


def _without_line_numbers(page: list[str]) -> list[str]:
    """A page of pleading paper, 1 to 28 down its left side, without those numbers."""
    numbers = [found and int(found[1]) for found in map(_LINE_NUMBER.match, page)]
    present = [number for number in numbers if number is not None]
    if len(present) < 15 or present[:15] != list(range(present[0], present[0] + 15)):
        return page
    expected = present[0]
    kept: list[str] = []
    for line, number in zip(page, numbers, strict=True):
        if number == expected:
            # Blanks in place of the number: indentation marks paragraphs and quotes.
            kept.append(line.replace(str(number), " " * len(str(number)), 1))
            expected += 1
        else:
            kept.append(line)
    return kept


def _without_heads(pages: list[list[str]]) -> list[list[str]]:
    """Pages without their numbers, and without lines that most of them begin or end with."""
    pages = [_trimmed(page) for page in pages]
    edges = Counter(shape for page in pages for shape in {*_edge_shapes(page)})
    running = {shape for shape, num in edges.items() if num >= 3 and num * 2 >= len(pages) - 1}
    return [_without_edges(page, running) if len(pages) > 1 else page for page in pages]


def _trimmed(page: list[str]) -> list[str]:
    start, end = 0, len(page)
    while start < end and not page[start].strip():
        start += 1
    while end > start and not page[end - 1].strip():
        end -= 1
    return page[start:end]


def _shape(line: str) -> str:
    return _DIGITS.sub("0", " ".join(line.split()))


def _edge_shapes(page: list[str]) -> list[str]:
    full = [line for line in page if line.strip()]
    return [_shape(line) for line in (*full[:_EDGE], *full[-_EDGE:])]


def _without_edges(page: list[str], running: set[str]) -> list[str]:
    def is_furniture(line: str) -> bool:
        return _PAGE_NUMBER.fullmatch(line) is not None or _shape(line) in running

    for _ in range(_EDGE):
        page = _trimmed(page)
        if page and is_furniture(page[0]):
            page = page[1:]
        page = _trimmed(page)
        if page and is_furniture(page[-1]):
            page = page[:-1]
    return _trimmed(page)


def _split_notes(page: list[str]) -> tuple[list[str], list[str]]:
    """The text above the rule of a page, and the notes below it."""
    for at in range(len(page) - 1, 0, -1):
        if _RULE.fullmatch(page[at]):
            below = [line for line in page[at + 1 :] if line.strip()]
            if below and _NOTE.match(below[0]):
                return page[:at], page[at + 1 :]
            return page, []
    return page, []


# Lines ----------------------------------------------------------------------------------------


def _common_spacing(pages: list[list[str]]) -> bool:
    """Whether the text is typed with a blank line after each line."""
    single = double = 0
    for page in pages:
        for before, line, after in zip(page, page[1:], page[2:], strict=False):
            if len(before.strip()) > 40:
                single += bool(line.strip())
                double += not line.strip() and bool(after.strip())
    return double > 2 * single


def _lines(page: list[str], *, is_double: bool, is_first: bool) -> list[_Line]:
    lines: list[_Line] = []
    gap = 2 if is_first else 0
    for line in page:
        if words := line.split():
            gap = max(0, gap - 1) if is_double and lines else gap
            lines.append(_Line(len(line) - len(line.lstrip()), " ".join(words), gap))
            gap = 0
        else:
            gap += 1
    return lines


def _paragraphs(lines: list[_Line], compounds: set[str]) -> list[str]:
    if not lines:
        return []
    widths = [line.indent + len(line.text) for line in lines]
    width = max(60, int(median(sorted(widths)[len(widths) // 2 :])))
    indents = Counter(
        line.indent for line, end in zip(lines, widths, strict=True) if end > 0.8 * width
    )
    margin = min((indent for indent, num in indents.items() if num * 10 >= len(lines)), default=0)
    margin = margin if indents else min(line.indent for line in lines)
    paragraphs: list[list[_Line]] = []
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else None
        after = lines[number + 1] if number + 1 < len(lines) else None
        if before is None or _begins(before, line, after, paragraphs[-1], margin, width):
            paragraphs.append([line])
        else:
            paragraphs[-1].append(line)
    return [_joined(paragraph, margin, width, compounds) for paragraph in paragraphs]


def _begins(
    before: _Line,
    line: _Line,
    after: _Line | None,
    paragraph: list[_Line],
    margin: int,
    width: int,
) -> bool:
    """Whether a line begins a paragraph."""
    if line.gap:
        return True
    end = before.indent + len(before.text)
    is_short = end < 0.75 * width
    if line.indent > before.indent + 1:
        # Indented under a line that runs to the margin: a first line, or a quote. Under the first
        # line of a paragraph that hangs, it is the rest of it.
        hangs = len(paragraph) == 1 and after is not None and after.indent == line.indent
        return not (hangs and _LIST_ITEM.match(before.text) is not None)
    if line.indent < before.indent - 1:
        # Back at the margin: the second line of a paragraph, or the end of a quote.
        return len(paragraph) > 1 or is_short
    # Two paragraphs of a line each, both indented: the first word would have fitted above.
    is_short |= len(paragraph) == 1 and line.indent > margin and _fits(end, line.text, width)
    return is_short and before.text.endswith(_ENDS) and not line.text[0].islower()


def _fits(end: int, text: str, width: int) -> bool:
    return end + 1 + len(text.partition(" ")[0]) < 0.95 * width


def _joined(paragraph: list[_Line], margin: int, width: int, compounds: set[str]) -> str:
    # Pieces, joined once: adding line after line to one string takes quadratic time.
    pieces = [paragraph[0].text]
    for line in paragraph[1:]:
        pieces[-1:] = _continued(pieces[-1], line.text, compounds)
    text = "".join(pieces)
    is_quote = len(paragraph) > 1 and min(line.indent for line in paragraph) >= margin + 4
    is_centred = max(len(line.text) for line in paragraph) < 0.6 * width
    return _QUOTE + text if is_quote and not is_centred else text


def _continued(line: str, after: str, compounds: set[str]) -> tuple[str, str]:
    """A line and the one after it; a word divided at the line's end is joined."""
    word, rest = _HYPHENATED.search(line[-40:]), _FIRST_WORD.match(after)
    if word is None or rest is None or not after[0].islower():
        return line, f" {after}"
    return line if word[0] + rest[0] in compounds else line[:-1], after
