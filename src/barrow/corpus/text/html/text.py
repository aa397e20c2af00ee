"""HTML that people write in forums, mail and books, as the text one would read.

A writer of tokens with a stack, linear whatever the nesting.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import NamedTuple

from barrow.corpus.text.html.tokens import Tokens, attribute, html_tokens

_CELL = "\x1f"  # the beginning of a cell, in the line being written; white space elsewhere
_BREAK = "\0"  # a line break in the line being written; none is left in the input
_WHITE = " \t\n\f" + _BREAK

# Line ends owed before and after an element: 1 begins a line, 2 leaves a blank line.
_GAPS = dict.fromkeys(("p", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "dl", "figure", "center"), 2)
_GAPS |= dict.fromkeys(("div", "section", "article", "dt", "dd", "details", "summary"), 1)
_GAPS |= {"address": 1, "figcaption": 1, "caption": 1, "thead": 1, "tbody": 1, "tfoot": 1}
_GAPS |= dict.fromkeys(("html", "body", "main", "header", "footer", "aside", "nav", "form"), 1)
_GAPS |= {f"/{tag}": gap for tag, gap in _GAPS.items()}

# The commonest tags that change nothing.
_PLAIN = frozenset(("em", "strong", "i", "b", "span", "/em", "/strong", "/i", "/b", "/span"))

# What the editor writes when the author leaves the description out.
_NO_DESCRIPTION = frozenset(
    ("enter image description here", "alt text", "image", "img", "screenshot")
)
# Deeper quotes and lists are written at this depth, or nesting would cost its square.
_MAX_PREFIX = 40
_MAX_MARK = 8


def html_to_text(
    fragment: str,
    *,
    edit: Callable[[Tokens], Tokens] | None = None,
    quote: str = "> ",
    images: bool = True,
    layout_tables: bool = False,
) -> str:
    """The readable text of an HTML fragment or page, without markup.

    Paragraphs are separated by a blank line, ``<br>`` ends a line; list items begin with ``- `` or
    their number, lines of a block quote with `quote`; table cells have `` | `` between them.
    ``<pre>`` keeps its lines and indentation, inline code is in backticks. A link is its text, or
    its address where the text is the address cut short with dots; an image is its description,
    unless `images` is off. Entities are decoded once. Titles, scripts, styles and comments are
    dropped.

    A table row is one line; with `layout_tables`, for pages arranged in tables, paragraphs in a
    cell stay separate. `edit` may change the tokens before they are written; it may insert an
    element ``*note``: a footnote, whose mark is written in the line of its first paragraph.
    """
    writer = _Writer(quote, images=images, layout_tables=layout_tables)
    line, end_line = writer.line, writer.end_line
    parts = html_tokens(fragment)
    parts = edit(parts) if edit else parts
    # The commonest tokens are handled inline: a call for each would take half of the time.
    for text, tag, attributes in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if text and (line or not text.isspace()):
            line.append(html.unescape(text) if "&" in text else text)
        if tag is None or tag in _PLAIN:
            continue
        gap = _GAPS.get(tag) or _GAPS.get(tag := tag.lower())
        if gap is not None:
            end_line(gap)
        elif tag[0] == "/":
            writer.close(tag[1:])
        else:
            writer.open(tag, attributes or "")
    return writer.finish()


class _Container(NamedTuple):
    """A list, item or quote, and the prefixes to restore when it ends."""

    tag: str
    outer_first: str | None
    outer_rest: str


class _Writer:
    """Finished lines, the line being written, and what encloses it."""

    def __init__(self, quote: str, *, images: bool, layout_tables: bool) -> None:
        self._quote = quote
        self._images = images
        self._layout_tables = layout_tables
        self._spaced = _barred if layout_tables else _one_spaced
        self.line: list[str] = []  # always the same list: `html_to_text` adds to it
        self._lines: list[str] = []
        self._gap = 1
        # `_rest` begins each line; `_first`, if there is one, the next line only (a bullet).
        self._rest = ""
        self._first: str | None = None
        self._between = ""  # the prefix common to all containers since the last finished line
        self._containers: list[_Container] = []
        self._num_open = {"ul": 0, "ol": 0, "li": 0, "blockquote": 0}
        self._layouts = [0]  # how many containers were open when each table began
        self._counters: list[int | None] = []  # of the open lists; None where there are no numbers
        self._in_pre = False
        self._code: int | None = None  # where in `line` it began
        self._power: int | None = None
        self._link: tuple[int, str] | None = None
        self._cells: bool | None = None  # in a table row, whether it has a cell yet
        self._in_note = False  # at its beginning, where nothing or only its mark is written

    def open(self, tag: str, attributes: str) -> None:
        """A start tag."""
        if self._in_pre:
            if tag == "br":
                self.line.append("\n")
        elif tag == "br":
            self.line.append(" " if self._cells is not None else _BREAK)
        elif tag == "a":
            self._link = (len(self.line), attributes)
        elif tag == "code":
            self._code = len(self.line)
        elif tag == "img":
            description = attribute(attributes, "alt")
            if self._images and description.strip().lower() not in _NO_DESCRIPTION:
                self.line.append(description)
        elif tag == "sup":
            self._power = len(self.line)
        elif tag == "pre":
            self._end_row(2)
            self._in_pre = True
            self.line.append("")  # so that white space at its beginning is not left out
        elif tag in self._num_open:
            self._open_container(tag, attributes)
        elif tag in ("table", "tr", "td", "th"):
            self._open_table_part(tag)
        elif tag == "*note":
            self._end_note()
            self._in_note = True

    def close(self, tag: str) -> None:
        """An end tag; one without a start tag is ignored."""
        if tag == "pre":
            self._end_pre()
        elif self._in_pre:
            return
        elif tag == "a":
            self._end_link()
        elif tag == "code":
            self._end_code()
        elif tag == "sup":
            self._end_power()
        elif tag == "*note":
            self._end_note()
        elif self._num_open.get(tag):
            while self._close_container() != tag:
                pass
        elif tag in ("tr", "table") and self._cells is not None:
            self._end_row(2 if tag == "table" else 1)
        elif tag == "table":
            self._end_layout() if self._layout_tables else self.end_line(2)

    def finish(self) -> str:
        """The whole text."""
        self._end_pre()
        self._end_note()
        return "\n".join(self._lines)

    # Lines ------------------------------------------------------------------------------------

    def _put(self, line: str) -> None:
        if self._gap > 1 and self._lines:
            self._lines.append(self._between.rstrip())
        if self._first is not None:
            line, self._first = self._first + line, None
        elif self._rest:
            line = (self._rest + line).rstrip()
        self._lines.append(line)
        self._between = self._rest
        self._gap = 1

    def end_line(self, gap: int) -> None:
        """Finish the line being written, and owe line ends. A table row, and code, continue."""
        if self._in_pre:
            return
        if self._cells is not None:
            self.line.append(" ")
            return
        if self.line:
            if self._in_note and self._is_mark():
                return
            text = "".join(self.line).strip(_WHITE)
            self.line.clear()
            self._code = self._power = self._link = None
            if _BREAK not in text:
                if line := self._spaced(text):
                    self._put(line)
            else:
                for part in text.split(_BREAK):
                    if line := self._spaced(part):
                        self._put(line)
                    else:
                        self._gap = 2
        if gap > self._gap:
            self._gap = gap

    def _end_pre(self) -> None:
        if not self._in_pre:
            return
        self._in_pre = False
        code = "".join(self.line).rstrip()
        self.line.clear()
        lines = code.split("\n") if code else []
        begin = next((at for at, line in enumerate(lines) if line.strip()), 0)
        for line in lines[begin:]:
            self._put(line.rstrip())
        self._gap = 2

    # Inline -----------------------------------------------------------------------------------

    def _end_link(self) -> None:
        if self._link is None:
            return
        start, attributes = self._link
        self._link = None
        text = "".join(self.line[start:]).strip()
        shown = text.removesuffix("...").removesuffix("…")
        if shown and shown != text:
            address = attribute(attributes, "href").strip()
            if address.startswith(shown):
                self.line[start:] = [address]

    def _end_code(self) -> None:
        if self._code is None:
            return
        text = "".join(self.line[self._code :])
        if text.strip():
            before, after = ("`` ", " ``") if "`" in text else ("`", "`")
            self.line[self._code :] = [before, text.strip(), after]
        self._code = None

    def _end_power(self) -> None:
        """10<sup>6</sup> is 10^6, not 106; a number after a word is most often a footnote."""
        if self._power:
            base, power = self.line[self._power - 1], "".join(self.line[self._power :])
            if base[-1:].isdigit() and power.lstrip("+-\u2212")[:1].isdigit():
                self.line.insert(self._power, "^")
        self._power = None

    def _end_note(self) -> None:
        self._in_note = False
        self._end_row(2)

    def _is_mark(self) -> bool:
        """Whether only a note's mark is written, after which the line continues."""
        text = "".join(self.line).strip(_WHITE)
        self._in_note = len(text) <= _MAX_MARK and _BREAK not in text
        if self._in_note:
            self.line[:] = [text, " "] if text else []
        return self._in_note

    # Lists and quotes -------------------------------------------------------------------------

    def _open_container(self, tag: str, attributes: str) -> None:
        if self._cells is not None:
            self.line.append(" ")
            return
        if tag == "li":
            if self._containers and self._containers[-1].tag == "li":
                self._close_container()
            self.end_line(1)
        else:
            self.end_line(1 if tag != "blockquote" and self._num_open["li"] else 2)
        self._containers.append(_Container(tag, self._first, self._rest))
        self._num_open[tag] += 1
        if tag == "ul":
            self._counters.append(None)
        elif tag == "ol":
            start = attribute(attributes, "start")
            self._counters.append(int(start) if start.isdecimal() and len(start) < 10 else 1)
        elif tag == "blockquote":
            self._extend_prefix(self._quote, self._quote)
        else:
            bullet = self._next_bullet()
            self._extend_prefix(bullet, " " * len(bullet))

    def _next_bullet(self) -> str:
        number = self._counters[-1] if self._counters else None
        if number is None:
            return "- "
        self._counters[-1] = number + 1
        return f"{number}. "

    def _extend_prefix(self, first: str, rest: str) -> None:
        if len(self._rest) < _MAX_PREFIX:
            if first != rest or self._first is not None:
                self._first = (self._rest if self._first is None else self._first) + first
            self._rest += rest

    def _close_container(self) -> str:
        """End the innermost container; its tag."""
        tag, outer_first, outer_rest = self._containers.pop()
        if self._cells is not None:
            self._end_row(1)
        self.end_line(2 if tag == "blockquote" or not self._num_open["li"] else 1)
        self._num_open[tag] -= 1
        if tag in ("ul", "ol"):
            self._counters.pop()
        if self._first is not None:  # nothing was written in it
            self._first = outer_first
        self._rest = outer_rest
        if len(outer_rest) < len(self._between):
            self._between = outer_rest
        return tag

    # Tables -----------------------------------------------------------------------------------

    def _open_table_part(self, tag: str) -> None:
        if self._layout_tables:
            self._open_layout_part(tag)
        elif tag == "table":
            self.end_line(2)
        elif tag == "tr" or self._cells is None:
            self._end_row(1)
            self._cells = False
        if tag in ("td", "th") and self._cells is not None:
            if self._cells:
                self.line.append(" | ")
            self._cells = True

    def _open_layout_part(self, tag: str) -> None:
        if tag == "table":
            self.end_line(2)
            self._layouts.append(len(self._containers))
            return
        self._close_in_cell()
        if tag == "tr":
            self.end_line(1)
        else:
            self.line.append(_CELL)

    def _close_in_cell(self) -> None:
        """Close the lists that are still open at the end of a cell."""
        while len(self._containers) > self._layouts[-1]:
            self._close_container()

    def _end_layout(self) -> None:
        self._close_in_cell()
        if len(self._layouts) > 1:
            self._layouts.pop()
        self.end_line(2)

    def _end_row(self, gap: int) -> None:
        if self._cells is not None:
            self._cells = None
            if not "".join(self.line).strip(" |\n\t"):
                self.line.clear()
        self.end_line(gap)


def _barred(text: str) -> str:
    """The cells that are not empty, a bar between them."""
    return " | ".join(filter(None, map(_one_spaced, text.split(_CELL))))


def _one_spaced(text: str) -> str:
    """The same words with one space between them; no-break and other spaces are spaces, too."""
    text = text.replace("\n", " ").strip(" ")
    # Most text is so already: white space other than a blank is not printable.
    if "  " not in text and text.isprintable():
        return text
    return " ".join(text.split())
