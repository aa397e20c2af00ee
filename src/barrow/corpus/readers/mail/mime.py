"""Mail messages (RFC 822 and MIME) to header fields, parts and text; accepts any bytes.

Python's own parser is not used: it nests without bound, and with the policy that also decodes it is
slower and raises on bad input. Here no function raises on bad input; time is linear in the size of
a message for each level of nesting, which the caller limits.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_tz

from barrow.corpus.text.encoding import codec_of, decode_short
from barrow.corpus.text.whitespace import tidy

_VALUE = 10_000  # a longer header value is cut
FIELD = re.compile(rb"([!-9;-~]++):")
_PARAMETER = re.compile(r';\s*+([^\s=;"*]++)(?:\*0?\*?)?\s*+=\s*+("(?:[^"\\]|\\.)*+"|[^;]*+)')
_FIRST_BOUNDARY = re.compile(rb"\s*+--([^\r\n]{1,200})\r?\nContent-Type:", re.IGNORECASE)
_ENCODED_WORD = re.compile(r"=\?([^?\s]{1,60}+)\?([bBqQ])\?([^?]*+)\?=")
_NOT_BASE64 = bytes(c for c in range(256) if not (chr(c).isalnum() and c < 128) and c not in b"+/")
# Charsets that mean a larger one.
_CHARSETS = {
    **dict.fromkeys(["ascii", "iso8859-1"], "cp1252"),
    **dict.fromkeys(["gb2312", "gbk"], "gb18030"),
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "iso8859-9": "cp1254",
}
_SEVEN_BIT = ("iso2022", "hz", "utf-7")


@dataclass(frozen=True)
class Part:
    """A message or a part of one: its header fields, by lower-case name, and its body, both raw."""

    header: dict[str, bytes]
    body: bytes

    def text(self, name: str) -> str:
        """A field as written, on one line; empty without one."""
        found = decode_short(self.header.get(name, b"")[:_VALUE].strip())
        return " ".join(found[0].split()) if found else ""

    def value(self, name: str) -> str:
        """A structured field without its parameters: ``text/plain``."""
        return self.text(name).partition(";")[0].strip().lower()

    def parameter(self, name: str, *, of: str = "content-type") -> str:
        for match in _PARAMETER.finditer(self.text(of)):
            if match[1].lower() == name:
                found = match[2].strip()
                return re.sub(r"\\(.)", r"\1", found[1:-1]) if found[:1] == '"' else found
        return ""

    def words(self, name: str) -> str:
        """A field for people to read, encoded words decoded."""
        return decoded_words(self.text(name))

    @property
    def date(self) -> str:
        """The date in ISO 8601 with its offset from UTC; empty if it is not valid."""
        try:
            parsed = parsedate_tz(self.text("date")[:100])
            if parsed is None:
                return ""
            zone = timezone(timedelta(seconds=parsed[9] or 0))
            return datetime(*parsed[:6], tzinfo=zone).isoformat()
        except (ValueError, TypeError, IndexError, OverflowError):
            return ""


def parse_part(raw: bytes) -> Part:
    """Header and body. A line that is not a field ends the header, as a blank one does."""
    if b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")
    fields: dict[str, list[bytes]] = {}
    value: list[bytes] = []
    position = 0
    for line in lines_of(raw):
        if not line.strip(b"\r\n"):
            position += len(line)
            break
        if position and line[:1] in (b" ", b"\t"):
            value.append(line)
        elif named := FIELD.match(line):
            value = [line[named.end() :]]
            fields.setdefault(named[1].decode().lower(), value)  # of two, the first counts
        elif not line.startswith((b"From ", b">From ")):
            break
        position += len(line)
    return Part({name: b"".join(value) for name, value in fields.items()}, raw[position:])


def lines_of(data: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        yield data[position:end]
        position = end


def enclosed_parts(part: Part) -> list[Part]:
    """Parts of a multipart body; none without a boundary. The last may be truncated.

    Where the header names no boundary, the one that the body begins with is taken.
    """
    guessed = _FIRST_BOUNDARY.match(part.body)
    boundary = part.parameter("boundary").encode() or (guessed[1].rstrip() if guessed else b"")
    if not boundary:
        return []
    data, mark = b"\n" + part.body, b"\n--" + boundary
    raws: list[bytes] = []
    start, position = -1, data.find(mark)
    while position >= 0:
        end = data.find(b"\n", position + len(mark))
        end = end if end >= 0 else len(data)
        rest = data[position + len(mark) : end].strip()
        if rest in (b"", b"--"):  # else it is a longer boundary that begins like this one
            if start >= 0:
                raws.append(data[start:position])
            start = end + 1
            if rest:
                break
        position = data.find(mark, end)
    else:
        if start >= 0:
            raws.append(data[start:])
    parts = [parse_part(raw) for raw in raws]
    if part.value("content-type") == "multipart/digest":
        return [Part({"content-type": b"message/rfc822"} | p.header, p.body) for p in parts]
    return parts


def transferred(part: Part) -> bytes:
    """The body without its transfer encoding."""
    encoding = part.value("content-transfer-encoding")
    if encoding == "quoted-printable":
        return binascii.a2b_qp(part.body)
    first = part.body.lstrip()[:100].splitlines()[:1]
    if encoding == "base64" and first and b" " not in first[0].strip():  # else the label is wrong
        return _base64(part.body)
    return part.body


def _base64(data: bytes) -> bytes:
    """What precedes the padding; mailing lists add their plain lines after it."""
    letters = data.partition(b"=")[0].translate(None, _NOT_BASE64)
    letters = letters[:-1] if len(letters) % 4 == 1 else letters
    return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))


def decoded(data: bytes, charset: str) -> str | None:
    codec = codec_of(charset) or ""
    declared = _CHARSETS.get(codec, codec)
    if declared.startswith(_SEVEN_BIT):  # ASCII to look at, so nothing but the label can tell
        try:
            return data.decode(declared)
        except (UnicodeError, LookupError, ValueError):
            pass
    found = decode_short(data, declared or None)
    found = found or decode_short(data.replace(b"\0", b""), declared or None)
    return found[0] if found else None


def decoded_words(value: str) -> str:
    """A header value with its encoded words (RFC 2047) decoded."""
    pieces: list[str | tuple[str, bytes]] = []
    position = 0
    for match in _ENCODED_WORD.finditer(value):
        charset, encoding, encoded = match[1].partition("*")[0], match[2].lower(), match[3].encode()
        gap = value[position : match.start()]
        data = _base64(encoded) if encoding == "b" else binascii.a2b_qp(encoded, header=True)
        last = pieces[-1] if pieces and not gap.strip() else ""
        if isinstance(last, tuple) and last[0] == charset:
            pieces[-1] = (charset, last[1] + data)  # a character may be cut between two words
        else:
            pieces += [(charset, data)] if isinstance(last, tuple) else [gap, (charset, data)]
        position = match.end()
    pieces.append(value[position:])
    texts = (p if isinstance(p, str) else decoded(p[1], p[0]) or "" for p in pieces)
    return " ".join(tidy("".join(texts)).split())


def unflowed(text: str, *, delete_space: bool) -> str:
    """Join lines of format=flowed (RFC 3676) to paragraphs."""
    paragraphs: list[tuple[int, list[str]]] = []
    is_open = False
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        content = line[depth:]
        content = content[1:] if content.startswith(" ") else content
        is_signature = content == "-- "
        if not (is_open and paragraphs[-1][0] == depth and not is_signature):
            paragraphs.append((depth, []))
        is_open = content.endswith(" ") and not is_signature
        paragraphs[-1][1].append(content[:-1] if is_open and delete_space else content)
    return "\n".join(">" * depth + " " * (depth > 0) + "".join(p) for depth, p in paragraphs)
