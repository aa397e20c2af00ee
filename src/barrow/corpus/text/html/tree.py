"""The elements of a web page as a flat list, each with its place in the markup and its text size.

Cut into tags by one regular expression and linked by a stack: linear in time and memory, whatever
the nesting. Of the parsers that build a tree, lexbor (selectolax, resiliparse) takes 12 s for
100,000 nested <div>, and libxml2 (lxml) drops what is nested deeper than 256. Here only two things
are needed: which part of the markup an element spans, and how much text it has.
"""

from __future__ import annotations

import re

# Every alternative also ends at the end of the text, so that nothing is ever scanned twice.
_TOKEN = re.compile(
    r"""
      <!--.*?(?:-->|\Z)
    | <(script|style|textarea|title|iframe)\b
       (?:[^<>]*+(?<=/)>|[^>]*+(?:>|\Z).*?(?:</\1\b[^>]*+(?:>|\Z)|\Z))
    | <(/?+[a-z][^\s/>]*+)
       ((?:[^>=]++|=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))?+)*+)(?:>|\Z)
    | <[!?][^>]*+(?:>|\Z)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_VOID = frozenset(
    [
        "area",
        "base",
        "basefont",
        "bgsound",
        "br",
        "col",
        "command",
        "embed",
        "frame",
        "hr",
        "img",
        "input",
        "keygen",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    ]
)
INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "nobr",
        "q",
        "rb",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
    ]
)
# What a start tag ends if it is the innermost open element.
_P = frozenset(["p", "head"])
_CELLS = frozenset(["p", "td", "th"])
_READINGS = frozenset(["rb", "rp", "rt"])
_ENDS: dict[str, frozenset[str]] = dict.fromkeys(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "center",
        "details",
        "dir",
        "div",
        "dl",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "main",
        "menu",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "ul",
    ],
    _P,
)
_ENDS |= {
    "body": _P,
    "li": frozenset(["p", "li"]),
    "dt": frozenset(["p", "dt", "dd"]),
    "dd": frozenset(["p", "dt", "dd"]),
    "option": frozenset(["option"]),
    "rt": _READINGS,
    "rp": _READINGS,
    "rb": _READINGS,
    "td": _CELLS,
    "th": _CELLS,
    "tr": _CELLS | {"tr"},
    "tbody": _CELLS | {"tr", "thead", "tbody"},
    "tfoot": _CELLS | {"tr", "thead", "tbody"},
}
# How XML ends an element that is empty; an address without quotes may end in a slash, too.
_XML_END = (" /", '"/', "'/", "\n/")
# How far up an end tag of an inline element looks for its start.
_LOOK_UP = 32


class Element:
    """An element: its tag, its attributes as written, where it begins and ends, and its text.

    `own` counts the characters of text in it that belong to no inner block, `linked` those of them
    that are links; `parent` is the number of the element around it.
    """

    __slots__ = (
        "attributes",
        "block",
        "end",
        "in_link",
        "inner",
        "linked",
        "number",
        "own",
        "parent",
        "start",
        "tag",
    )

    def __init__(
        self, number: int, parent: int, tag: str, attributes: str, start: int, inner: int
    ) -> None:
        self.number = number
        self.parent = parent
        self.tag = tag
        self.attributes = attributes
        self.start = start  # of its start tag
        self.inner = inner  # after its start tag
        self.end = inner  # after its end tag
        self.own = 0
        self.linked = 0
        self.block = number  # the innermost block that it belongs to
        self.in_link = False


def page_tree(markup: str) -> list[Element]:
    """The elements of a page in the order of their start tags; the first is the page itself.

    Void elements such as ``<br>``, those that end as in XML (``<a/>``), and those whose content is
    not markup, such as ``<script>``, are among them as if they were empty; comments are not.
    """
    root = Element(0, 0, "", "", 0, 0)
    elements = [root]
    stack = [root]
    num_open: dict[str, int] = {}
    top = root
    position = 0
    for token in _TOKEN.finditer(markup):
        start = token.start()
        if start > position:
            size = len(markup[position:start].strip())
            if size:
                block = elements[top.block]
                block.own += size
                if top.in_link:
                    block.linked += size
        position = token.end()
        tag = token[2]
        if tag is None:
            if token[1] is not None:
                raw = Element(len(elements), top.number, token[1].lower(), "", start, position)
                elements.append(raw)
            continue
        if tag[0] == "/":
            tag = tag[1:].lower()
            if num_open.get(tag):
                _close(stack, num_open, tag, start, position)
                top = stack[-1]
            continue
        tag = tag.lower()
        ends = _ENDS.get(tag)
        if ends is not None:
            while top.tag in ends:
                stack.pop()
                num_open[top.tag] -= 1
                top.end = start
                top = stack[-1]
        element = Element(len(elements), top.number, tag, token[3], start, position)
        elements.append(element)
        if tag in INLINE or tag in _VOID:
            element.block = top.block
            element.in_link = (tag == "a" and "href" in token[3].lower()) or top.in_link
        elif top.in_link:
            element.in_link = True
        if tag in _VOID or token[3].endswith(_XML_END) or token[3] == "/":
            continue
        num_open[tag] = num_open.get(tag, 0) + 1
        stack.append(element)
        top = element
    length = len(markup)
    if size := len(markup[position:].strip()):
        elements[top.block].own += size
    for element in stack:
        element.end = length
    return elements


def _close(
    stack: list[Element], num_open: dict[str, int], tag: str, start: int, after: int
) -> None:
    """End an open element, and what is open inside it."""
    if tag in INLINE:
        # An end tag of an inline element does not end the blocks inside it.
        for above in range(1, min(_LOOK_UP, len(stack))):
            found = stack[-above].tag
            if found == tag:
                break
            if found not in INLINE:
                # The block continues; what follows it is no longer in a link.
                return
        else:
            return
    while True:
        element = stack.pop()
        num_open[element.tag] -= 1
        if element.tag == tag:
            element.end = after
            return
        element.end = start
