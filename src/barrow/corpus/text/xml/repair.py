"""Repairs XML for a strict parser: in UTF-8, its HTML entities resolved."""

from __future__ import annotations

import io
import re
from html.entities import html5
from typing import BinaryIO

from barrow.corpus.text.encoding import codec_of

_DECLARATION = re.compile(r"\s*+<\?xml[^>]*+>")
_AMPERSAND = re.compile(r"&(?:(#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)?")
_OWN = frozenset(["amp", "lt", "gt", "quot", "apos"])
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_LABEL = re.compile(
    rb"<\?xml[^>]{1,100}encoding\s{0,9}=\s{0,9}[\"']"
    rb"([\w .:()-]{2,40})[\"']",
    re.IGNORECASE,
)


def declared_encoding(data: bytes) -> str | None:
    """The encoding of an XML declaration, if it is a text encoding."""
    label = _LABEL.search(data[:300])
    codec = codec_of(label[1].decode("ascii")) if label else None
    # The bytes themselves say whether they are UTF-8, UTF-16 or UTF-32.
    return None if codec is None or codec.startswith("utf") else codec


def readable_xml(text: str) -> BinaryIO:
    """Decoded XML as a file for `xml_events`.

    Without the declaration, whose encoding is no longer right; with HTML's named characters
    resolved, and ampersands and control characters that XML does not allow repaired.
    """
    # Matched, not searched: a search would try all of a run of blanks from each of them.
    if declaration := _DECLARATION.match(text):
        text = text[declaration.end() :]
    text = _AMPERSAND.sub(lambda match: _reference(match[1] or ""), _NOT_XML.sub("", text))
    return io.BytesIO(text.encode("utf-8", "replace"))


def _reference(name: str) -> str:
    if name in _OWN or (name.startswith("#") and _is_allowed(name)):
        return f"&{name};"
    return html5.get(f"{name};", f"&amp;{name};" if name else "&amp;")


def _is_allowed(number: str) -> bool:
    code = int(number[2:], 16) if number[1] in "xX" else int(number[1:])
    return (
        code in (9, 10, 13)
        or 32 <= code < 0xD800
        or 0xE000 <= code < 0xFFFE
        or (0x10000 <= code < 0x110000)
    )
