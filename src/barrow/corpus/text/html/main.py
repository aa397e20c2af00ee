"""The main part of a web page: the article, without menus, notices, share buttons and comments.

Dropped are elements that tags, class names and hidden attributes mark as something else, unless
much of the text is in them. The main part is the element marked as the article, if it has a third
of the text; else the smallest that has nearly all. In it, lists and paragraphs that are mostly
links are dropped, with the lines that introduce them, and the page's title. Where that leaves
little, looser rules follow, and at last every paragraph. There are no rules for single sites, and
every step is linear, whatever the nesting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barrow.corpus.text.html.layout import layout_parts
from barrow.corpus.text.html.main_names import (
    is_article,
    is_content,
    is_hidden,
    is_lead_elsewhere,
    is_other,
    is_part,
    is_password,
    is_perhaps_other,
    is_phrase_of_page,
    names,
    without_id,
)
from barrow.corpus.text.html.text import html_to_text
from barrow.corpus.text.html.tokens import attribute
from barrow.corpus.text.html.tree import INLINE, Element

# Not readable, or never part of the main text.
_NO_TEXT = frozenset(
    [
        "head",
        "noscript",
        "svg",
        "canvas",
        "select",
        "datalist",
        "button",
        "input",
        "img",
        "audio",
        "video",
        "object",
        "embed",
        "applet",
        "template",
        "script",
        "style",
        "textarea",
        "title",
        "iframe",
        "rt",
        "rp",
        "rtc",
    ]
)
_RUBY = frozenset(["rt", "rp", "rtc"])
_NOT_MAIN = frozenset(["nav", "aside", "footer", "dialog", "menu", "map", "figcaption", "figure"])
_NEVER_DROPPED = frozenset(["", "html", "body", "main", "article"])
_IN_TABLE = frozenset(["table", "thead", "tbody", "tfoot", "tr", "td", "th"])
_HEADINGS = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
# Groups of blocks, and blocks of text: what is dropped if it is mostly links.
_GROUPS = frozenset(["ul", "ol", "dl", "div", "section", "center", "header", "form"])
_LINES = _HEADINGS | {"p", "table"}
# Elements that are not the main part by themselves: they are parts of a text.
_PARTS = INLINE | _LINES | _IN_TABLE | {"ul", "ol", "dl", "li", "dt", "dd", "blockquote", "pre"}

# In characters: a block this long is a paragraph whatever its tag, or in a <p>; a group with this
# much text is more than links; the longest line looked at, and the longest that introduces a list;
# the most around a password field in a log-in form.
_PARAGRAPH = 80
_SHORT_PARAGRAPH = 25
_MORE_THAN_LINKS = 100
_LINE = 400
_LABEL = 80
_LOG_IN = 400

_WORD = re.compile(r"\w+")
_INSIDE = re.compile(r"""href\s*+=\s*+["']?#""", re.IGNORECASE)


def main_markups(markup: str, elements: list[Element], *, title: str) -> Iterator[str]:
    """The markup of the main part of a page, by rules each looser than the one before.

    First the inside of the article; then all that no tag or name marks as something else; last
    every paragraph.
    """
    for is_strict in (True, False):
        page = _Page(markup, elements)
        values = page.values()
        page.drop_other(values, is_strict=is_strict)
        values = [0 if gone else value for value, gone in zip(values, page.dropped, strict=True)]
        main = elements[page.main(values) if is_strict else 0]
        page.drop_title(main, values, title)
        page.drop_links(main, values)
        if is_strict:
            page.drop_lines(main)
        yield page.without_dropped(main)
    yield _Page(markup, elements).paragraphs()


def readable_markup(markup: str, elements: list[Element]) -> str:
    """The markup of a page without what is not shown or cannot be read."""
    page = _Page(markup, elements)
    page.drop_unreadable()
    return page.without_dropped(elements[0])


class _Page:
    """The elements of a page, and which of them are dropped."""

    def __init__(self, markup: str, elements: list[Element]) -> None:
        self.dropped = bytearray(len(elements))
        self._markup = markup
        self._elements = elements
        self._names = [names(e.attributes) if e.attributes else "" for e in elements]
        # A section's address is made of its heading: it is not a name.
        for element in elements:
            if "id=" in element.attributes and self._has_address(element):
                self._names[element.number] = names(without_id(element.attributes))
        # What is looked at as a line has few blocks around it that are, too: else it would be
        # read again and again.
        self._has_blocks = bytearray(len(elements))
        for element in elements[1:]:
            if element.block == element.number:
                self._has_blocks[elements[element.parent].block] = 1
        self._layout = layout_parts(elements)

    def _has_address(self, element: Element) -> bool:
        """Whether a heading links to the element, as in manuals."""
        if element.tag in _HEADINGS:
            return True
        address = attribute(element.attributes, "id")
        begin = self._markup[element.inner : element.inner + _LINE]
        return bool(address) and f"#{address}" in begin

    def _sums(self, values: list[int]) -> list[int]:
        """For each element the sum over it and all that it contains."""
        sums = values[:]
        for element in reversed(self._elements):
            if element.number:
                sums[element.parent] += sums[element.number]
        return sums

    def values(self) -> list[int]:
        """For each block the characters of text that count: paragraphs without their links."""
        values = [0] * len(self._elements)
        for element in self._elements:
            plain = element.own - element.linked
            least = _SHORT_PARAGRAPH if element.tag == "p" else _PARAGRAPH
            if plain > element.linked:
                if plain >= least:
                    values[element.number] = plain
                elif element.tag in ("td", "th"):
                    values[element.number] = plain // 2
        if not any(values):  # a page of short lines
            return [max(0, element.own - element.linked) for element in self._elements]
        return values

    # What is not the article ------------------------------------------------------------------

    def drop_other(self, values: list[int], *, is_strict: bool) -> None:
        """Drop what is marked as something else, unless much of the text is in it."""
        sums = self._sums(values)
        dropped = self.dropped
        self._drop_log_ins()
        for element in self._elements:
            number, tag = element.number, element.tag
            if dropped[element.parent] or tag in _NO_TEXT:
                dropped[number] = 1
            elif sums[number] * 2 <= sums[0] and tag not in _NEVER_DROPPED:
                is_little = sums[number] * 8 <= sums[0]
                if is_strict or is_little:
                    dropped[number] |= self._is_other(element, is_little and is_strict)

    def drop_unreadable(self) -> None:
        """Drop what is not shown or cannot be read."""
        for element in self._elements:
            is_shown = element.tag in _NEVER_DROPPED or not is_hidden(element.attributes)
            self.dropped[element.number] = element.tag in _NO_TEXT or not is_shown

    def _drop_log_ins(self) -> None:
        """Drop forms that ask for a password, or the part of a large one that does."""
        fields = [e for e in self._elements if e.tag == "input" and is_password(e.attributes)]
        if not fields:
            return
        sizes = self._sums([element.own for element in self._elements])
        for element in fields:
            around = self._elements[element.parent]
            while around.tag not in _NEVER_DROPPED and sizes[around.number] <= _LOG_IN:
                self.dropped[around.number] = 1
                if around.tag == "form":
                    break
                around = self._elements[around.parent]

    def _is_other(self, element: Element, is_little: bool) -> bool:
        named = self._names[element.number]
        if element.tag in _NOT_MAIN:
            return not is_part(named)
        if not element.attributes:
            return False
        says_so = is_other(named) or (is_little and is_perhaps_other(named))
        return (says_so and element.tag not in _IN_TABLE) or is_hidden(element.attributes)

    # The main part ----------------------------------------------------------------------------

    def main(self, values: list[int]) -> int:
        """The number of the element that holds the main text."""
        sums = self._sums(values)
        found = self._candidates(sums)
        if "named" in found and (main := self._around(found["named"], sums)):
            return main
        main = next(
            (
                max(found[kind], key=sums.__getitem__)
                for kind in ("article", "main", "content")
                if kind in found
            ),
            0,
        )
        best_child = [0] * len(self._elements)
        for element in self._elements[1:]:
            best = best_child[element.parent]
            if not best or sums[element.number] > sums[best]:
                best_child[element.parent] = element.number
        while (child := best_child[main]) and sums[child] * 20 >= sums[main] * 19:
            if self._has_address(self._elements[child]) or self._elements[child].tag in _PARTS:
                break
            main = child
        return main

    def _candidates(self, sums: list[int]) -> dict[str, list[int]]:
        """Elements marked as the article, and likely ones with a third of the text."""
        found: dict[str, list[int]] = {}
        for element in self._elements[1:]:
            number, tag = element.number, element.tag
            if self.dropped[number] or not sums[number] or tag in ("html", "body"):
                continue
            named = self._names[number]
            if named and is_article(named):
                found.setdefault("named", []).append(number)
            if sums[number] * 3 >= sums[0]:
                if tag in ("article", "main"):
                    found.setdefault(tag, []).append(number)
                elif named and is_content(named):
                    found.setdefault("content", []).append(number)
        return found

    def _around(self, named: list[int], sums: list[int]) -> int:
        """Of elements named as an article's text, the innermost that holds nearly all of it.

        Where the article is in several pieces, the element around them; 0 if there is too little.
        """
        elements = self._elements
        outer: list[int] = []
        for number in named:
            if not outer or elements[number].start >= elements[outer[-1]].end:
                outer.append(number)
        best = max(outer, key=sums.__getitem__)
        pieces = [n for n in outer if elements[n].attributes == elements[best].attributes]
        if len(pieces) > 1:
            around = elements[elements[pieces[0]].parent]
            while around.end < elements[pieces[-1]].end:
                around = elements[around.parent]
            # With more than one title they are several articles.
            if sum(element.tag == "h1" for element in self._left(around)) < 2:
                best = around.number
        for number in named:
            is_inside = elements[best].start < elements[number].start < elements[best].end
            if is_inside and sums[number] * 10 >= sums[best] * 9:
                best = number
        return best if sums[best] * 3 >= sums[0] else 0

    # What does not belong to it ---------------------------------------------------------------

    def _left(self, main: Element) -> Iterator[Element]:
        """The elements of the main one that are not dropped, nor inside a dropped one."""
        end = 0
        for element in self._elements[main.number + 1 :]:
            if element.start >= main.end:
                break
            if element.start < end:
                continue
            if self.dropped[element.number]:
                end = element.end
            else:
                yield element

    def drop_title(self, main: Element, values: list[int], title: str) -> None:
        """Drop the heading that is the page's title, and what precedes it."""
        left = list(self._left(main))
        words = set(_WORD.findall(title.lower()))
        heading = next((e for e in left if e.tag == "h1" and self._says(e, words)), None)
        if heading is None:
            return
        before = [e for e in left if e.end <= heading.start]
        if sum(values[e.number] for e in before) * 3 < sum(values[e.number] for e in left):
            for element in before:
                self.dropped[element.number] = 1
        self.dropped[heading.number] = 1

    def _says(self, element: Element, words: set[str]) -> bool:
        """Whether most words of an element are among these."""
        said = _WORD.findall(self._line(element).lower())
        return 2 * sum(word in words for word in said) > len(said)

    def _line(self, element: Element) -> str:
        """The text of a block that is short; nothing if it is not, or holds large blocks."""
        is_small = element.end - element.inner <= _LINE
        if element.own > _LINE or (self._has_blocks[element.number] and not is_small):
            return ""
        return html_to_text(self._markup[element.inner : element.end])

    def drop_links(self, main: Element, values: list[int]) -> None:
        """Drop what is mostly links and not the larger part of the text."""
        own, linked = [0] * len(self._elements), [0] * len(self._elements)
        left = list(self._left(main))
        for element in left:
            own[element.number], linked[element.number] = element.own, element.linked
        own, linked, text = self._sums(own), self._sums(linked), self._sums(values)
        before: Element | None = None  # the last line
        end = 0
        for element in left:
            number = element.number
            if element.start < end or own[number] * 2 > own[main.number]:
                continue
            if element.tag in _GROUPS and text[number] < _MORE_THAN_LINKS:
                if linked[number] * 10 <= own[number] * 6:
                    pass
                elif element.tag in ("ul", "ol") and self._is_led(before):
                    end = element.end
                elif element.tag != "section" or not self._has_address(element):
                    self.dropped[number] = 1
            elif element.tag in _LINES:
                is_link = linked[number] * 10 > own[number] * 8
                self.dropped[number] = is_link and not self._shows_address(element)
            if element.own and element.block == number:
                before = element

    def _shows_address(self, element: Element) -> bool:
        """Whether a line has an address to be read, or is a heading that links to itself."""
        line = self._markup[element.inner : min(element.end, element.inner + _LINE)]
        return ">http" in line or (element.tag in _HEADINGS and _INSIDE.search(line) is not None)

    def _is_led(self, before: Element | None) -> bool:
        """Whether the line before a list announces it."""
        line = self._line(before) if before is not None else ""
        if before is None or is_lead_elsewhere(line) or is_phrase_of_page(line):
            return False
        return line.endswith((":", "：")) or before.tag in _HEADINGS

    def drop_lines(self, main: Element) -> None:
        """Drop lines about the page itself, and those that introduce something dropped.

        A line that announces other pages (More stories) is dropped with the list after it; a
        heading or a line with a colon if what it introduces is dropped; a heading at the end, too.
        """
        label: Element | None = None
        leads_elsewhere = False
        end = 0
        for element in self._elements[main.number + 1 :]:
            if element.start >= main.end:
                break
            if element.start < end:
                continue
            if leads_elsewhere and element.tag in ("ul", "ol"):
                self.dropped[element.number] = 1
            if self.dropped[element.number]:
                end = element.end
                if label is not None and element.tag in _GROUPS and element.end > element.inner:
                    self.dropped[label.number] = 1
            elif element.own and element.block == element.number:
                label, leads_elsewhere = None, False
                line = self._line(element)
                if is_lead_elsewhere(line):
                    label, leads_elsewhere = element, True
                elif is_phrase_of_page(line):
                    self.dropped[element.number] = 1
                elif len(line) < _LABEL and (element.tag in _HEADINGS or line.endswith(":")):
                    label = element
        if label is not None and label.tag in _HEADINGS:
            self.dropped[label.number] = 1

    # What is left -----------------------------------------------------------------------------

    def without_dropped(self, main: Element) -> str:
        """What is inside an element, without what is dropped; cells of layout tables are blocks."""
        markup, layout = self._markup, self._layout
        parts: list[str] = []
        position = main.inner
        for number in range(main.number + 1, len(self._elements)):
            element = self._elements[number]
            if element.start >= main.end:
                break
            if element.start < position:
                continue
            if self.dropped[element.number]:
                parts += markup[position : element.start], "" if element.tag in _RUBY else " "
                position = min(element.end, main.end)
            elif layout[element.number]:
                parts += markup[position : element.start], "<div>"
                position = element.inner
        parts.append(markup[position : main.end])
        return "".join(parts)

    def paragraphs(self) -> str:
        """Every block with a paragraph's text that can be read."""
        self.drop_unreadable()
        self._drop_log_ins()
        values = self.values()
        parts: list[str] = []
        end = 0
        for element in self._left(self._elements[0]):
            if element.start >= end and values[element.number]:
                parts.append(self.without_dropped(element))
                end = element.end
        return "<p>".join(parts)
