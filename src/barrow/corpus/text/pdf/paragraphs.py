"""Lines of pages to paragraphs: lines and divided words are joined."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from barrow.corpus.text.pdf.layout import Column
from barrow.corpus.text.pdf.lines import Line

_INDENT = 0.7  # of the font size: a line that begins further right is indented
_HYPHEN = "\x02"  # between the parts of a divided word, until it is decided
_DIVIDED = re.compile(rf"(?<![^\W\d_])([^\W\d_]++){_HYPHEN}([^\W\d_]++)")
_WORD = re.compile(r"[^\W\d_]++(?:-[^\W\d_]++)*+")
_ADDRESS_END = re.compile(r"(?:://|www\.)[^\s<>]*+(?<=[/._=&?%])$")
_LEADER = re.compile(r"\.(?: ?\.){4}")
_BULLETS = ("• ", "● ", "◦ ", "▪ ", "■ ", "– ", "— ", "∗ ")
_SENTENCE_END = (".", "!", "?", ":", ";", "”", "»", '"', "’", ")", "]", "…", "。")


@dataclass(slots=True)
class Paragraph:
    """Text in one line; `is_close` if there is no space before it."""

    text: str
    size: float
    is_close: bool
    is_open: bool = False


def leadings(columns: Iterable[Column]) -> dict[int, float]:
    """The usual distance between base lines, by the size of letters in half points."""
    found: dict[int, Counter[float]] = {}
    for column in columns:
        for lines in (column.lines, column.notes):
            for last, line in pairwise(lines):
                step = last.y - line.y
                if 0.8 * line.size < step < 3 * line.size and abs(last.size - line.size) < 0.5:
                    found.setdefault(_half_points(line), Counter())[round(step * 5) / 5] += 1
    return {
        size: min(steps, key=lambda step: (-steps[step], step)) for size, steps in found.items()
    }


def _half_points(line: Line) -> int:
    return round(line.size * 2)


def text_of(pages: Sequence[Sequence[Column]], *, body_size: float) -> str:
    """The text of a document: paragraphs with blank lines between, divided words joined.

    Notes come after the paragraph at the foot of their column.
    """
    usual = leadings(column for page in pages for column in page)
    done: list[Paragraph] = []
    notes: list[Paragraph] = []
    for page in pages:
        for column in page:
            body = _paragraphs(column.lines, usual, body_size)
            if body and done and not done[-1].is_open:
                done += notes
                notes = []
            if body and done and done[-1].is_open:
                if _is_continued(done[-1], body[0]):
                    first, *body = body
                    done[-1].text = _glued(done[-1].text, first.text)
                    done[-1].is_open = first.is_open
                if body or not done[-1].is_open:
                    done += notes
                    notes = []
            done += body
            notes += _paragraphs(column.notes, usual, body_size)
    done += notes
    text = "".join(
        ("\n" if paragraph.is_close else "\n\n") + paragraph.text for paragraph in done
    ).lstrip("\n")
    return _whole_words(text)


def _paragraphs(
    lines: Sequence[Line], usual: dict[int, float], body_size: float
) -> list[Paragraph]:
    if not lines:
        return []
    ends = sorted(line.x1 for line in lines)
    margin = ends[-1 - len(ends) // 20]
    return [
        paragraph
        for block in _blocks(lines, usual)
        for paragraph in _paragraphs_of_block(block, margin, body_size)
    ]


def _blocks(lines: Sequence[Line], usual: dict[int, float]) -> list[list[Line]]:
    """Lines cut where there is space between them, or their font size changes."""
    blocks: list[list[Line]] = []
    for line in lines:
        last = blocks[-1][-1] if blocks else None
        if last is None or _is_apart(last, line, usual):
            blocks.append([line])
        else:
            blocks[-1].append(line)
    return blocks


def _is_apart(last: Line, line: Line, usual: dict[int, float]) -> bool:
    step = last.y - line.y
    expected = [usual.get(_half_points(each), 1.2 * each.size) for each in (last, line)]
    if step < -line.size or step > 1.22 * max(expected):
        return True
    # A word in another font also changes the size, but not the line spacing.
    has_changed = abs(last.size - line.size) > 0.12 * max(last.size, line.size)
    return has_changed and step > 1.1 * min(expected) and min(len(last.text), len(line.text)) > 3


def _paragraphs_of_block(block: Sequence[Line], margin: float, body_size: float) -> list[Paragraph]:
    left = min(line.x0 for line in block)
    right = max(line.x1 for line in block)
    is_centred = _is_centred(block, left, right)
    # Where no two lines end together, or all are short, the block has no right margin.
    num_full = sum(right - line.x1 < 0.6 * line.size for line in block)
    share = (right - left) / max(1.0, margin - left)
    if share < 0.5 or (num_full < 2 and (len(block) > 2 or share < 0.75)):
        right = max(right, margin)
    texts = [[block[0]]]
    closes = [False]
    for number in range(1, len(block)):
        last, line = block[number - 1], block[number]
        following = block[number + 1] if number + 1 < len(block) else None
        if is_centred and last.size < 1.15 * body_size:
            begins: str | None = None if last.hyphen else "close"
        else:
            begins = _begins(texts[-1], line, following, right)
        if begins:
            texts.append([line])
            closes.append(begins == "close")
        else:
            texts[-1].append(line)
    paragraphs = []
    for lines, is_close in zip(texts, closes, strict=True):
        text = lines[0].text + (_HYPHEN if lines[0].hyphen else "")
        for line in lines[1:]:
            text = _glued(text, line.text + (_HYPHEN if line.hyphen else ""))
        paragraphs.append(Paragraph(text, lines[0].size, is_close))
    last = block[-1]
    whole = paragraphs[-1].text
    paragraphs[-1].is_open = last.hyphen or not whole.endswith(_SENTENCE_END)
    return paragraphs


def _is_row(line: Line) -> bool:
    """Whether it is a row of a table or table of contents: parts with wide blanks between."""
    return any(right - left > 2 * line.size for _, left, right in line.gaps) or bool(
        _LEADER.search(line.text)
    )


def _is_centred(block: Sequence[Line], left: float, right: float) -> bool:
    """Whether lines differ as much on the left as on the right."""
    middle = (left + right) / 2
    return all(abs(line.x0 + line.x1 - 2 * middle) < line.size for line in block) and any(
        line.x0 - left > line.size for line in block
    )


def _begins(so_far: Sequence[Line], line: Line, following: Line | None, right: float) -> str | None:
    """Whether a line begins a paragraph (``indented``) or just a line (``close``), or neither."""
    last = so_far[-1]
    if last.hyphen:
        return None
    if line.text.startswith(_BULLETS) or _is_row(last) or _is_row(line):
        return "close"
    tolerance = _INDENT * line.size
    room = right - last.x1
    width = (line.x1 - line.x0) / max(1, len(line.text))
    first_word = width * (len(line.text.split(" ", 1)[0]) + 1)
    is_forced = room > first_word + line.size  # its first word would have fitted above
    shift = line.x0 - (so_far[1] if len(so_far) > 1 else last).x0
    if len(so_far) > 1:
        if shift < -tolerance or (shift > tolerance and is_forced):
            return "indented"
        if shift > tolerance and following is not None and following.x0 < line.x0 - tolerance:
            return "indented"
    elif shift > tolerance:
        # Further in than the only line so far: a new paragraph, or one that hangs.
        if is_forced:
            return "indented"
        goes_back = following is not None and following.x0 < line.x0 - tolerance
        is_full = right - line.x1 < line.size
        if goes_back and is_full and last.text.endswith(_SENTENCE_END):
            return "indented"
        return None
    elif shift < -tolerance and is_forced:
        return "close"
    return "close" if is_forced else None


def _is_continued(last: Paragraph, first: Paragraph) -> bool:
    """Whether a paragraph at the top of a column is the rest of the last one's."""
    if abs(last.size - first.size) > 0.08 * last.size:
        return False
    return last.text.endswith(_HYPHEN) or first.text[:1].islower()


def _glued(text: str, more: str) -> str:
    if text.endswith(_HYPHEN):
        return text + more
    if text.endswith("-") and text[-2:-1].isalpha() and more[:1].isalpha():
        return text[:-1] + _HYPHEN + more
    if _ADDRESS_END.search(text, max(0, len(text) - 200)) and more[:1].islower():
        return text + more
    if text.endswith(("—", "–")) and not text[-2:-1].isspace():
        return text + more
    return f"{text} {more}"


def _whole_words(text: str) -> str:
    """Divided words in one; the hyphen stays where the document writes the word with it."""
    if _HYPHEN not in text:
        return text
    known = Counter(word.lower() for word in _WORD.findall(_DIVIDED.sub(" ", text)))

    def whole(found: re.Match[str]) -> str:
        first, second = found.groups()
        plain, hyphened = f"{first}{second}".lower(), f"{first}-{second}".lower()
        if second[0].isupper() and not first.isupper():
            return f"{first}-{second}"
        if known[hyphened] > known[plain]:
            return f"{first}-{second}"
        return first + second

    return _DIVIDED.sub(whole, text).replace(_HYPHEN, "-")
