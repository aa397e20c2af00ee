"""Parts of an XML file, as bytes: only the parts that a document needs are cut out and parsed.

In journal articles and citations, lists of people and references are half of the bytes.
"""

from __future__ import annotations

import re

from barrow.corpus.text.encoding import decode_short
from barrow.corpus.text.xml.events import BadXml
from barrow.corpus.text.xml.repair import readable_xml

_PREFIX = re.compile(rb"xmlns:([A-Za-z][\w.-]{0,30})")
_ATTRIBUTE = re.compile(r"""([^\s=/"'<>]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_KNOWN = frozenset([b"mml", b"m", b"xlink", b"xsi", b"ali"])
_WHITE = b" >\n\t\r/"


def plain_names(data: bytes) -> bytes:
    """An element with the names in it stripped of the prefixes that its tag declares.

    Those of MathML, which many articles have, are left: `MathWriter` strips them.
    """
    declared = {*_PREFIX.findall(data, 0, data.find(b">") + 1)} - _KNOWN
    for prefix in sorted(declared):
        if b"<%s:" % prefix in data:
            data = data.replace(b"<%s:" % prefix, b"<").replace(b"</%s:" % prefix, b"</")
    return data


def without(data: bytes, name: str) -> bytes:
    """The XML without the elements of that name and their contents."""
    begin, end = f"<{name}".encode(), f"</{name}>".encode()
    if begin not in data:
        return data
    kept: list[bytes] = []
    position = 0
    while (start := data.find(begin, position)) >= 0:
        after = start + len(begin)
        if data[after : after + 1] not in _WHITE:  # a longer name
            kept.append(data[position:after])
            position = after
            continue
        tag_end = data.find(b">", after)
        kept.append(data[position:start])
        position = tag_end + 1 if data[tag_end - 1] == 0x2F else _end_of(data, begin, end, after)
    kept.append(data[position:])
    return b"".join(kept)


def _end_of(data: bytes, begin: bytes, end: bytes, position: int) -> int:
    """Where an element ends that may hold others of its name."""
    depth = 1
    while depth:
        close = data.find(end, position)
        if close < 0:
            return len(data)
        depth += data.count(begin, position, close) - 1
        position = close + len(end)
    return position


def inner(text: str, name: str) -> str | None:
    """The content of the first element of that name, which must not contain another."""
    begin, position = f"<{name}", 0
    while (start := text.find(begin, position)) >= 0:
        position = start + len(begin)
        if text[position : position + 1] in (">", " ", "\n", "\t", "\r"):
            tag_end = text.find(">", position)
            if text[tag_end - 1] == "/":
                return ""
            end = text.find(f"</{name}>", tag_end)
            return text[tag_end + 1 : end] if end >= 0 else None
    return None


def attributes_of(tag: str) -> dict[str, str]:
    """The attributes in a start tag, as written."""
    return {found[1]: found[2] or found[3] or "" for found in _ATTRIBUTE.finditer(tag)}


def repaired(data: bytes) -> bytes:
    """Broken XML in UTF-8, its HTML entities resolved, bare ampersands and controls repaired.

    Raises `BadXml` if no encoding decodes the bytes.
    """
    found = decode_short(data)
    if found is None:
        raise BadXml("unknown encoding")
    return readable_xml(found[0]).read()
