"""Text of unknown origin, made safe to show in HTML and in markdown.

Texts, names and licences come from outside. They may contain tags, control characters, or marks
that change the direction of all text after them. The sets of characters are explicit, as Python's
own tables change from version to version.
"""

from __future__ import annotations

import html
import re

_UNSHOWN = "\ufffd"
_RANGES = (
    (0x7F, 0x9F),  # delete, and the second set of controls
    (0x061C, 0x061C),  # marks of direction, here and below
    (0x200E, 0x200F),
    (0x2028, 0x2029),  # separators of lines and paragraphs
    (0x202A, 0x202E),
    (0x2066, 0x2069),
    (0xD800, 0xDFFF),  # halves of pairs
    (0xFDD0, 0xFDEF),  # noncharacters, here and below
    (0xFEFF, 0xFEFF),
    (0xFFF0, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0xE0000, 0xE007F),  # invisible letters
    *((0x1FFFE + 0x10000 * plane, 0x1FFFF + 0x10000 * plane) for plane in range(16)),
)
# The first set of controls has pictures of its own: ␀ ␛.
_SHOWN = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}
_SHOWN |= {code: _UNSHOWN for first, last in _RANGES for code in range(first, last + 1)}

_MARKDOWN = re.compile(r"[\\`*_\[\]<>|&~#$@]|(?<=:)(?=//)|(?<=[Ww])(?=ww\.)")
_BACKTICKS = re.compile("`+")


def shown(text: str) -> str:
    """Text without control characters; line breaks stay."""
    return text.replace("\r\n", "\n").translate(_SHOWN)


def one_line(text: str, *, most: int = 200) -> str:
    """Shown text in one line, cut after `most` characters."""
    # Only so much is read: a cause may quote a whole file.
    words = " ".join(shown(text[: 4 * most]).split())
    return words if len(words) <= most and len(text) <= 4 * most else words[:most].rstrip() + "…"


def escaped(text: str) -> str:
    """Shown text for HTML, in elements and in attributes."""
    return html.escape(shown(text))


def markdown_text(text: str) -> str:
    """A name as plain text in markdown or in a cell of a table."""
    # A zero-width space keeps an address from becoming a link.
    return _MARKDOWN.sub(lambda found: f"\\{found[0]}" if found[0] else "\u200b", one_line(text))


def markdown_code(text: str) -> str:
    """A name as code, in running markdown or in a cell of a table."""
    line = one_line(text).replace("|", "\\|")
    longest = max((len(ticks) for ticks in _BACKTICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    blank = " " if longest or not line else ""
    return f"{fence}{blank}{line}{blank}{fence}"
