"""Mail: mbox files, maildir and loose RFC 822 messages, and Enron-spam's ``Subject:`` and body.

The text is the body, as The Pile kept it: text/plain where there is a choice, else text/html as
text; quotes and signatures stay, flowed lines are joined, enclosed messages stay with their
sender, date and subject in front. `meta` has ``title`` (the subject), ``date``, ``from``,
``message_id``, and in an mbox ``member``, the message's number. Recipients are not kept.

Attachments, uuencoded ones too, are dropped, each a reject; so is a message without text.

Licence: mail belongs to its authors. Enron's was published by the Federal Energy Regulatory
Commission in the public interest; other mail needs its authors' consent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from barrow.archive import Document
from barrow.corpus.input.open_raw import open_raw
from barrow.corpus.readers.mail.mime import (
    FIELD,
    Part,
    decoded,
    decoded_words,
    enclosed_parts,
    lines_of,
    parse_part,
    transferred,
    unflowed,
)
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.html.text import html_to_text
from barrow.corpus.text.whitespace import is_binary, tidy

_LINE = 1 << 20
_ENVELOPE = re.compile(rb"From .{1,200}\d\d?:\d\d.{0,40}\d{4}")
_ESCAPED = re.compile(rb"^>(>*+From )", re.MULTILINE)
_META_CHARSET = re.compile(rb"charset\s*+=\s*+[\"']?+([A-Za-z0-9_:.-]{1,40})")
_HTML = re.compile(
    r"\s*+<(?:!doctype|(?:x-)?html|head|body|table|center|div|font|p|a)[\s>]", re.IGNORECASE
)
_UU_BEGIN = re.compile(r"begin [0-7]{3,4} (.+)")
_UU_LINE = re.compile(r"[ -`]++")
_KNOWN = frozenset(
    [
        "from",
        "to",
        "cc",
        "bcc",
        "subject",
        "date",
        "message-id",
        "received",
        "return-path",
        "reply-to",
        "sender",
        "delivered-to",
        "mime-version",
        "status",
    ]
)
_MESSAGES = frozenset(["message/rfc822", "message/news"])
_MARKUP = frozenset(["text/html", "text/enriched", "text/richtext"])
_TEXTS = _MARKUP | {"text/plain", "message/delivery-status"}


@dataclass
class _Found:
    """What the parts of one message gave."""

    texts: list[str] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)


@dataclass(frozen=True)
class Mail(Reader):
    """E-mail (mbox, maildir, loose messages): the text of each message, without attachments.

    A message of more than `max_message` bytes is rejected, and a part enclosed more than
    `max_depth` deep. Reasons: those of `open_raw`, ``too-large``, ``not-mail``, ``no-text``,
    ``not-text``, ``attachment``, ``too-deep``.
    """

    max_message: int = 1 << 26
    max_depth: int = 20

    extractor = "mail/3"
    patterns = ("**/*",)

    def read(self, path: Path) -> Iterator[Item]:
        file = open_raw(path)
        if isinstance(file, Reject):
            yield file
            return
        with file:
            try:
                for number, raw in _messages(file, self.max_message):
                    member = str(number) if number else ""
                    if len(raw) > self.max_message:
                        cause = f"a message of more than {self.max_message:,} bytes"
                        yield Reject("too-large", cause, member, excerpt(raw))
                    else:
                        yield from _message(raw, member, self.max_depth)
            except OSError as error:
                yield Reject("unreadable", error.strerror or str(error))


def _messages(file: BinaryIO, max_message: int) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each message; number 0 where the file is a message, not an mbox.

    Of a message, little more than `max_message` bytes are held. A line begins a message if it is an
    envelope, ``From sender date``, and a header field follows: bodies have ``From `` lines too.
    """
    lines = iter(lambda: file.readline(_LINE), b"")
    first = next((line for line in lines if line.strip()), b"")
    is_mbox = first.startswith(b"From ")
    number = int(is_mbox)
    message = bytearray(b"" if is_mbox else first)
    envelope = b""  # a line that begins a message if the next one is a header field
    for line in lines:
        if envelope and (FIELD.match(line) or line.startswith(b">From ")):
            yield number, _ESCAPED.sub(rb"\1", bytes(message))
            number, envelope = number + 1, b""
            message.clear()
        elif envelope:
            message += envelope
            envelope = b""
        if is_mbox and line.startswith(b"From ") and _ENVELOPE.match(line):
            envelope = line
        elif len(message) <= max_message:
            message += line
    message += envelope
    yield number, _ESCAPED.sub(rb"\1", bytes(message)) if is_mbox else bytes(message)


def _message(raw: bytes, member: str, max_depth: int) -> Iterator[Item]:
    """One message as a document or a reject; then its attachments."""
    message = _enron_spam(raw) or parse_part(raw)
    if not _KNOWN & message.header.keys():
        yield Reject("not-mail", "not a message: no header", member, excerpt(raw))
        return
    found = _Found()
    _collect(message, found, member, max_depth)
    if text := tidy("\n\n".join(found.texts)):
        yield Document(text, _meta(message, member))
    else:
        yield Reject("no-text", "a message without text", member, excerpt(raw))
    yield from found.rejects


def _meta(message: Part, member: str) -> dict[str, str]:
    title, sender = message.words("subject"), message.words("from")
    values = {"title": title, "date": message.date, "from": sender}
    values |= {"message_id": message.words("message-id"), "member": member}
    return {key: value for key, value in values.items() if value}


def _enron_spam(raw: bytes) -> Part | None:
    """Enron-spam's form, a subject line with the body right below it; None if it is not that."""
    if raw[:8].lower() != b"subject:":
        return None
    end = raw.find(b"\n") + 1 or len(raw)
    rest = raw[end:]
    # A folded subject is followed by more header or by a blank line, an indented body by text.
    unfolded = next((line for line in lines_of(rest) if line[:1] not in (b" ", b"\t")), b"x")
    named = FIELD.match(unfolded)
    if not unfolded.strip() or (named and _is_known(named[1].decode().lower())):
        return None
    return Part({"subject": raw[8:end]}, rest)


def _is_known(name: str) -> bool:
    return name in _KNOWN or name.startswith(("x-", "content-", "list-"))


def _collect(part: Part, found: _Found, member: str, depth: int) -> None:
    """Add the text of a part and of what it encloses, `depth` levels at most."""
    kind = part.value("content-type")
    parts = enclosed_parts(part) if not kind or kind.startswith("multipart/") else []
    if (parts or kind in _MESSAGES) and not depth:
        cause = "parts nested too deeply"
        found.rejects.append(Reject("too-deep", cause, member, excerpt(part.body)))
    elif kind == "multipart/alternative" and parts:
        _collect_alternative(parts, found, member, depth - 1)
    elif parts:
        for enclosed in parts:
            _collect(enclosed, found, member, depth - 1)
    elif kind in _MESSAGES:
        enclosed = parse_part(transferred(part))
        names = [("From", "from"), ("Date", "date"), ("Subject", "subject")]
        lines = [f"{label}: {value}" for label, name in names if (value := enclosed.words(name))]
        found.texts.append("\n".join(lines))
        _collect(enclosed, found, member, depth - 1)
    elif part.value("content-disposition") == "attachment" or (
        "/" in kind and kind not in _TEXTS and not kind.startswith("multipart/")
    ):
        found.rejects.append(_attachment(part, kind, member))
    else:
        _collect_text(part, found, member)


def _collect_alternative(parts: list[Part], found: _Found, member: str, depth: int) -> None:
    """Add the plain one of several forms of the same text, or the first that has any."""
    versions: list[tuple[bool, bool, int, _Found]] = []
    for part in parts:
        version = _Found()
        _collect(part, version, member, depth)
        found.rejects += version.rejects
        has_text = any(text.strip() for text in version.texts)
        is_plain = part.value("content-type") in ("", "text/plain")
        versions.append((not has_text, not is_plain, len(versions), version))
    found.texts += min(versions)[-1].texts


def _collect_text(part: Part, found: _Found, member: str) -> None:
    data = transferred(part)
    kind, charset = part.value("content-type"), part.parameter("charset")
    if kind == "text/html" and not charset and (named := _META_CHARSET.search(data[:2000])):
        charset = named[1].decode()
    text = decoded(data, charset)
    if text is None or is_binary(text):
        found.rejects.append(Reject("not-text", "not text in any encoding", member, excerpt(data)))
        return
    if kind in _MARKUP or _HTML.match(text):  # whatever its type
        found.texts.append(html_to_text(text, images=False, layout_tables=True))
        return
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if part.parameter("format").lower() == "flowed":
        text = unflowed(text, delete_space=part.parameter("delsp").lower() == "yes")
    kept, names = _without_uuencoded(text)
    found.texts.append(kept)
    found.rejects += [Reject("attachment", f"uuencoded, {tidy(name)}", member) for name in names]


def _attachment(part: Part, kind: str, member: str) -> Reject:
    name = part.parameter("filename", of="content-disposition") or part.parameter("name")
    return Reject("attachment", f"{kind}, {decoded_words(name) or 'no name'}"[:300], member)


def _without_uuencoded(text: str) -> tuple[str, list[str]]:
    """Text without uuencoded files, and their names."""
    if "begin " not in text:
        return text, []
    kept: list[str] = []
    names: list[str] = []
    lines = [*text.split("\n"), "", ""]
    number = 0
    while number < len(lines) - 2:
        begin = _UU_BEGIN.fullmatch(lines[number])
        number += 1
        if not (begin and _is_uuencoded(lines[number])):  # only words that begin like a file
            kept.append(lines[number - 1])
            continue
        names.append(begin[1])
        while _is_uuencoded(lines[number]):
            number += 1
        for rest in ("", "end"):  # the line of length zero may have lost its blank
            number += lines[number] == rest and number < len(lines) - 2
    return "\n".join(kept), names


def _is_uuencoded(line: str) -> bool:
    """Whether a line has the length that its first character encodes."""
    if not _UU_LINE.fullmatch(line):
        return False
    length = ((ord(line[0]) - 32 & 63) + 2) // 3 * 4
    return length - 3 <= len(line) - 1 <= length + 1
