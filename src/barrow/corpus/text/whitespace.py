"""Text as barrow keeps it: one kind of line end, no control characters, single blank lines."""

from __future__ import annotations

import re

# Invisible: controls of C0 and C1 but tab and newline, and byte order marks inside the text.
# Vertical tab, form feed and next line end a line.
_CHARACTERS: dict[int, str | None] = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), 0xFEFF])
_CHARACTERS |= {0x09: "\t", 0x0A: "\n", 0x0B: "\n", 0x0C: "\n", 0x85: "\n"}
# Searched first in text that is not ASCII: there `translate` is ten times slower than a search.
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
_UNPAIRED = re.compile("[\ud800-\udfff]")
_BLANK_BEFORE_END = re.compile(r"\n(?<=[^\S\n]\n)")
_BLANK_LINES = re.compile(r"\n{3,}+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SAMPLE = 1 << 16


def tidy(text: str) -> str:
    r"""Text with ``\n`` line ends, no trailing blanks, at most one blank line in a row.

    NULs and other control characters are removed; unpaired surrogates become U+FFFD.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() or _ODD.search(text):
        text = text.translate(_CHARACTERS)
    try:
        text.encode()  # faster than a search
    except UnicodeEncodeError:
        text = _UNPAIRED.sub("\ufffd", text)
    text = text.strip("\n")
    # Most texts have none: ask first. In ASCII there are no other blanks by now.
    has_trailing = " \n" in text or "\t\n" in text or text[-1:].isspace()
    if has_trailing or (not text.isascii() and _BLANK_BEFORE_END.search(text)):
        text = "\n".join([line.rstrip() for line in text.split("\n")])
    if "\n\n\n" in text:
        text = _BLANK_LINES.sub("\n\n", text)
    return text.strip("\n")


def is_binary(text: str) -> bool:
    """Whether decoded bytes cannot have been text: over 2% control characters at the start."""
    sample = text[:_SAMPLE]
    return len(_CONTROL.findall(sample)) * 50 > len(sample)


def one_spaced(text: str) -> str:
    """The words of a text with one space between them, without control characters.

    No-break and other spaces are spaces, and so are line ends.
    """
    text = text.replace("\n", " ").strip(" ")
    # Most text is so already. Controls, and white space other than a blank, are not printable.
    if "  " not in text and text.isprintable():
        return text
    text = " ".join(text.split())
    return text if text.isprintable() else " ".join(tidy(text).split())
