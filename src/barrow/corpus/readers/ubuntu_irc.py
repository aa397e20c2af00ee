"""Chat logs of the Ubuntu channels: a document is a channel's week.

A log has one file per day, ``2010/12/20/#ubuntu-eu.txt``, or files with the date in their name.
Kept are messages, ``<nick> text``, and actions, ``* nick text``; days are separated by a
blank line. Dropped are times and messages of the server: joins, parts, modes, topics, notices. Logs
up to 2007 write actions like joins, ``=== nick waves``: what is not a known message of the server
counts as an action. Lines of unknown form are dropped, counted in a reject for each file. `meta`
has ``channel``, ``week`` (ISO 8601) and ``date``, the first day there is.

Licence: by the channels' terms of service, participants agree to public logs; no other licence is
known.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from barrow.archive import Document
from barrow.corpus.input.open_raw import load_raw, shown
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.encoding import decode, decode_short
from barrow.corpus.text.whitespace import is_binary, tidy

_DATE = re.compile(r"(?<!\d)(\d{4})([-_./]?)(\d\d)\2(\d\d)(?!\d)")
_SUFFIXES = re.compile(r"(?:\.(?:txt|log|raw))++$", re.IGNORECASE)
_TIME = re.compile(r"\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?\]?\s++(?=[<*=-])")
# The logger of those years puts a blank after each "]", in nicks too: <sinope[crashed] >.
_SAID = re.compile(r"<[ @+%&~!]?+([^<>]{1,64})>(?: (.*))?")
_DONE = re.compile(r"\*\s++((?:[^\s*\]]|\] ?+){1,64})(?: (.*))?")
_MARKED = re.compile(r"===\s++((?:[^\s\]]|\] ?+){1,64})\s++(.*)")
_SERVER = re.compile(
    r"\]\s++has (?:joined|left|quit)\b|\bhas (?:joined|left) #| is now known as \S++$"
    r"| (?:entered|left) the room\b| (?:changed|sets?) the topic\b| sets mode\b| was kicked\b"
    r"|^=== (?:mode/|\.\.\[topic|topic\b|#|signoff:|you're )",
    re.IGNORECASE,
)
_NOTICE = re.compile(r"(?:-[^\s-]|-!-|\*\*\*|-->|<--|---)")
_CHANNEL = re.compile(r"(?:joined|left|mode/|topic/|topic of) ?(#[^\s:\]\[]{1,60})")
_CODES = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|[\x02\x0f\x11\x12\x16\x1d-\x1f]")


class _Place(NamedTuple):
    """Channel and day of a log, from its path."""

    folder: str
    channel: str
    day: date | None


class _Log(NamedTuple):
    """The content of a file: its lines, the channel the server names, lines of unknown form."""

    lines: list[str]
    channel: str
    unknown: list[str]


@dataclass(frozen=True)
class UbuntuIrc(Reader):
    """Ubuntu IRC logs: a document per channel and week, without joins and other notices.

    Reasons, with the file's name as the member where there are several: those of `load_raw`,
    ``not-text``, ``not-a-log``, ``unknown-lines``.
    """

    max_bytes: int = 1 << 28

    extractor = "ubuntu_irc/2"
    patterns = ("**/*.txt", "**/*.log")

    def read(self, path: Path) -> Iterator[Item]:
        return self.read_group([path])

    def read_group(self, paths: Sequence[Path]) -> Iterator[Item]:
        texts: list[str] = []
        rejects: list[Reject] = []
        channel = ""
        for path in paths:
            member = shown(path.name) if len(paths) > 1 else ""
            log = _log(path, member, self.max_bytes)
            if isinstance(log, Reject):
                rejects.append(log)
                continue
            channel = channel or log.channel
            texts.append(tidy("\n".join(log.lines)))
            if log.unknown:
                cause = f"{len(log.unknown)} lines of unknown form"
                rejects.append(
                    Reject("unknown-lines", cause, member, excerpt("\n".join(log.unknown)))
                )
        if text := "\n\n".join(filter(None, texts)):
            places = [_place(path) for path in paths]
            days = sorted(place.day for place in places if place.day)
            values = {"channel": places[0].channel or channel}
            if days:
                values |= {"week": _week(days[0]), "date": days[0].isoformat()}
            yield Document(text, {key: value for key, value in values.items() if value})
        yield from rejects

    def group(self, paths: Sequence[Path]) -> list[tuple[Path, ...]]:
        """Paths by channel and ISO week, each group in the order of days; undated ones alone."""
        groups: dict[tuple[str, str, str], list[tuple[date, Path]]] = defaultdict(list)
        alone: list[tuple[Path, ...]] = []
        for path in sorted(set(paths)):
            place = _place(path)
            if place.day is None:
                alone.append((path,))
            else:
                key = (place.folder, place.channel, _week(place.day))
                groups[key].append((place.day, path))
        weeks = [tuple(path for _, path in sorted(days)) for _, days in sorted(groups.items())]
        return weeks + alone


def _week(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


def _place(path: Path) -> _Place:
    """Channel and day from the name, or from its folders.

    The channel is a name with ``#``, a name in a folder of its day, or what precedes the date.
    What follows the date (``2007-08-24.train-c``) only separates groups.
    """
    stem = unquote(_SUFFIXES.sub("", shown(path.name)))
    if found := _DATE.search(stem):
        before, after = stem[: found.start()].strip("-_. "), stem[found.end() :].strip("-_. ")
        named = before or after
        channel = named if before or named.startswith("#") else ""
        return _Place(f"{path.parent}/{after}", channel, _day(found))
    folders = "/".join(path.parts[-4:-1])
    if (found := _DATE.search(folders)) and found.end() == len(folders):
        root = path.parents[3] if found[2] == "/" else path.parents[1]
        return _Place(str(root), stem, _day(found))
    return _Place(str(path), stem if stem.startswith("#") else "", None)


def _day(found: re.Match[str]) -> date | None:
    try:
        return date(int(found[1]), int(found[3]), int(found[4]))
    except ValueError:
        return None


def _log(path: Path, member: str, max_bytes: int) -> _Log | Reject:
    data = load_raw(path, max_bytes=max_bytes)
    if isinstance(data, Reject):
        return Reject(data.reason, data.cause, member, data.excerpt)
    lines, unknown = list[str](), list[str]()
    channel = ""
    text = _decoded(data)
    if is_binary(_CODES.sub("", text)):
        return Reject("not-text", "mostly control characters", member, excerpt(data))
    for raw in text.split("\n"):
        line = _CODES.sub("", raw).strip()
        timed = _TIME.match(line)
        line = line[timed.end() :] if timed else line
        kept = _message(line)
        if kept:
            lines.append(kept)
        elif kept is None and line:
            unknown.append(line)
        elif not channel and (named := _CHANNEL.search(line)):
            channel = named[1].lower()
    if not lines:
        return Reject("not-a-log", "no line of speech", member, excerpt(text))
    return _Log(lines, channel, unknown)


def _message(line: str) -> str | None:
    """A line as it is kept; empty for a message of the server, None for an unknown form."""
    if said := _SAID.fullmatch(line):
        return f"<{said[1].replace(' ', '')}> {said[2]}" if said[2] and said[2].strip() else ""
    acted = _DONE.fullmatch(line)
    if line.startswith("==="):
        acted = None if _SERVER.search(line) else _MARKED.fullmatch(line)
    if acted:
        return f"* {acted[1].replace(' ', '')} {acted[2].strip()}" if acted[2] else ""
    if line.startswith("==="):
        return ""
    return "" if _NOTICE.match(line) else None


def _decoded(data: bytes) -> str:
    """The text of a log, whose lines may each be in another encoding, as every client chooses.

    Lines that are not UTF-8 are decoded together, by the likeliest encoding.
    """
    data = data.replace(b"\r\n", b"\n")
    found = decode(data)
    if found is not None and found[1].startswith("utf") and "\ufffd" not in found[0]:
        return found[0]
    lines = data.split(b"\n")
    others = [number for number, line in enumerate(lines) if not _is_utf8(line)]
    guess = decode_short(b"\n".join(lines[number] for number in others))
    name = guess[1] if guess else "cp1252"
    texts = [line.decode("utf-8", "replace") for line in lines]
    for number in others:
        texts[number] = lines[number].decode(name, "replace")
    return "\n".join(texts)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
