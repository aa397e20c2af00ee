"""Decodes web pages: by the HTTP header, the page's declaration, then detection."""

from __future__ import annotations

import codecs
import re

from barrow.corpus.text.encoding import codec_of, decode

_HEAD = 4096
# A name may have a blank before its number: ``ISO 8859-1``.
_CHARSET = re.compile(
    r"""charset\s*+=\s*+["']?\s*+((?:[a-z]++ (?=[0-9]))?[^\s"';,>]++)""", re.IGNORECASE
)
_META = re.compile(
    rb"""<meta\b[^>]*?\bcharset\s*+=\s*+["']?\s*+((?:[a-z]++ (?=[0-9]))?[^\s"'/>;]++)""",
    re.IGNORECASE,
)
_XML = re.compile(rb"""\s*+<\?xml\b[^>]*?\bencoding\s*+=\s*+["']([^"'>]++)""", re.IGNORECASE)
# Labels that browsers read as a superset, by the WHATWG's Encoding Standard.
_MEANT = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "utf-16": "utf-16-le",
}
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode_page(body: bytes, content_type: str = "") -> tuple[str, str] | None:
    """Text and the encoding it was in; None if no encoding makes text of it.

    Labels mean what they mean in browsers. In order: a byte order mark, UTF-8, then what was
    declared: by the server in `content_type`, by the page in a meta element or XML declaration. A
    page with a few bytes that its declared encoding does not have is read with U+FFFD for them, if
    they are fewer than one in a hundred. Then detection, as `decode`.
    """
    if body.startswith(_MARKS):
        return decode(body)
    head = body[:_HEAD]
    names = [_encoding(found[1]) for found in [_CHARSET.search(content_type)] if found]
    for found_label in (_META.search(head), _XML.match(head)):
        if found_label:
            name = _encoding(found_label[1].decode("latin-1"))
            # A page whose meta element could be read is not in UTF-16.
            names.append("utf-8" if name in ("utf-16-le", "utf-16-be") else name)
    declared = [name for name in names if name]
    found = decode(body, declared[0] if declared else None)
    if found is None or not declared or found[1] in ("utf-8", *declared):
        return found
    for name in declared:
        text = body.decode(name, "replace")
        if text.count("\ufffd") * 100 <= len(text):
            return text, name
    return found


def _encoding(label: str) -> str | None:
    """The Python codec that a label means to a browser."""
    name = codec_of(label)
    return _MEANT.get(name, name) if name else None
