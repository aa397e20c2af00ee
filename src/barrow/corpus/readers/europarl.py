"""Proceedings of the European Parliament: Europarl's tagged text, XML, and plain minutes.

A file, a chapter or a whole sitting, is a document. Kept are headings, speakers' names (in XML with
their office), speeches with one paragraph per line, and remarks such as *(Applause)*; a blank line
comes before each speaker. All other markup is dropped. A file of plain text, such as minutes, is
taken as it is. `meta` has ``title`` (the first heading), ``date``, ``language`` and ``speakers``,
how many different ones there are.

Documents of less than 200 characters are rejected, as in The Pile: they are titles of items that
were not debated.

Licence: European Union; reproduction is authorised if the source is acknowledged.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.input.open_raw import load_raw
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.text.encoding import decode
from barrow.corpus.text.whitespace import is_binary, tidy
from barrow.corpus.text.xml.events import BadXml, End, Start, Text, xml_events
from barrow.corpus.text.xml.repair import declared_encoding, readable_xml

_TAGGED = re.compile(r"^<(?:CHAPTER|SPEAKER|P)[\s>]", re.MULTILINE)  # XML has them in lower case
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]*+)([^<>]*+)>")
_STRUCTURE = frozenset(["CHAPTER", "SPEAKER", "P"])
_NAME = re.compile(r"\bNAME\s*+=\s*+(?:\"([^\"]*+)\"|([^\s>]++))", re.IGNORECASE)
_DATE = re.compile(r"(?<!\d)(\d{4}|\d\d)([-_]?)(\d\d)\2(\d\d)(?!\d)")
_LANGUAGES = frozenset(
    [
        *("bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "ga", "hr"),
        *("hu", "it", "lt", "lv", "mt", "nl", "pl", "pt", "ro", "sk", "sl", "sv"),
    ]
)
_LANGUAGE = re.compile(r"[-._]([a-z]{2})$")
_INLINE = frozenset(["i", "b", "em", "strong", "span", "sup", "sub", "a", "w", "hi", "emphasis"])
_TITLE = 300


@dataclass
class _Sitting:
    """The content of a file, as far as it was read."""

    text: list[str] = field(default_factory=list)
    speakers: set[str] = field(default_factory=set)
    title: str = ""
    language: str = ""
    date: str = ""

    def head(self, title: str) -> None:
        title = " ".join(title.split())
        self.title = self.title or title
        self.text.append(f"\n\n{title}\n\n")

    def speak(self, name: str, office: str = "") -> None:
        name, office = " ".join(name.split()), " ".join(office.split())
        if name or office:
            self.speakers.add(name or office)
        self.text.append(f"\n\n{', '.join(filter(None, (name, office)))}\n")


@dataclass(frozen=True)
class EuroParl(Reader):
    """EuroParl (tagged text, XML, minutes): headings, speakers' names and speeches of a file.

    Those of fewer than `min_characters` are rejected. Reasons: those of `load_raw`,
    ``unknown-encoding``, ``not-text``, ``bad-xml``, ``too-short``.
    """

    min_characters: int = 200
    max_bytes: int = 1 << 26

    extractor = "europarl/2"
    patterns = ("**/*.txt", "**/*.xml")

    def read(self, path: Path) -> Iterator[Item]:
        data = load_raw(path, max_bytes=self.max_bytes)
        if isinstance(data, Reject):
            yield data
            return
        found = decode(data, declared_encoding(data))
        if found is None:
            yield Reject("unknown-encoding", "unknown encoding", "", excerpt(data))
            return
        raw = found[0]
        if is_binary(raw):
            yield Reject("not-text", "mostly control characters", "", excerpt(data))
            return
        sitting = _Sitting()
        damage = None
        if _TAGGED.search(raw[:20_000]):
            _read_tagged(raw, sitting)
        elif raw.lstrip().startswith("<"):
            damage = _read_xml(raw, sitting)
        else:
            _read_plain(raw, sitting)
        text = tidy("".join(sitting.text))
        if len(text) >= self.min_characters:
            yield Document(text, _meta(path, sitting))
        elif damage is None:
            cause = f"{len(text)} characters, fewer than {self.min_characters}"
            yield Reject("too-short", cause, "", excerpt(text))
        if damage is not None:
            yield damage


def _read_tagged(raw: str, sitting: _Sitting) -> None:
    """Europarl's tags, which are never closed: a chapter's heading follows its tag."""
    raw = _TAG.sub(lambda tag: tag[0] if tag[1].upper() in _STRUCTURE else "", raw)
    position, in_heading = 0, False
    for tag in _TAG.finditer(raw + "<P>"):
        text = html.unescape(raw[position : tag.start()]).strip()
        if in_heading and text:
            sitting.head(text)
        elif text:
            sitting.text.append(text)
        position = tag.end()
        in_heading = tag[1].upper() == "CHAPTER" or (in_heading and not text)
        if tag[1].upper() == "SPEAKER":
            named = _NAME.search(tag[2])
            sitting.speak(html.unescape(named[1] or named[2] or "") if named else "")
            in_heading = False
        else:
            sitting.text.append("\n")


def _read_xml(raw: str, sitting: _Sitting) -> Reject | None:
    """Proceedings in XML: sections with titles, interventions with speakers, paragraphs."""
    try:
        for number, event in enumerate(xml_events(readable_xml(raw))):
            if isinstance(event, Text):
                sitting.text.append(event.data.replace("\n", " "))
            elif isinstance(event, End):
                sitting.text.append("" if event.name in _INLINE else "\n")
            else:
                _begin(event, sitting, is_root=number == 0)
    except BadXml as error:
        return Reject("bad-xml", str(error), "", excerpt(raw))
    finally:  # the blanks that indent elements are not text
        lines = "".join(sitting.text).split("\n")
        sitting.text = ["\n".join(" ".join(line.split()) for line in lines)]
    return None


def _begin(element: Start, sitting: _Sitting, *, is_root: bool) -> None:
    attributes = element.attributes
    if is_root:
        tag = attributes.get("lang") or attributes.get("xml:lang") or ""
        sitting.language = tag[:2].lower()
        sitting.date = _day(_DATE.search(attributes.get("date", "")))
    if element.name == "section" and attributes.get("title"):
        sitting.head(attributes["title"])
    elif element.name == "intervention":
        sitting.speak(attributes.get("name", ""), attributes.get("role", ""))
    elif element.name == "a" and attributes.get("text"):
        sitting.text.append(f"{attributes['text']}\n")


def _read_plain(raw: str, sitting: _Sitting) -> None:
    """Text as it is; its first lines up to a blank one are the heading, if they are few."""
    text = tidy(raw)
    first = text.partition("\n\n")[0]
    heading = first if len(first) <= _TITLE else first.partition("\n")[0]
    sitting.title = " ".join(heading.split())
    sitting.text.append(text)


def _meta(path: Path, sitting: _Sitting) -> dict[str, str | int]:
    values: dict[str, str | int] = {
        "title": tidy(sitting.title[:_TITLE]),
        "date": _day(_DATE.search(path.name)) or sitting.date,
        "language": sitting.language if sitting.language in _LANGUAGES else _path_language(path),
        "speakers": len(sitting.speakers),
    }
    return {key: value for key, value in values.items() if value}


def _day(found: re.Match[str] | None) -> str:
    """A date in ISO 8601; Europarl's names have years of two digits, ``ep-96-11-14``."""
    if found is None:
        return ""
    year = int(found[1])
    year += 0 if year > 99 else 1900 if year > 78 else 2000  # the first elected one met in 1979
    try:
        return date(year, int(found[3]), int(found[4])).isoformat()
    except ValueError:
        return ""


def _path_language(path: Path) -> str:
    """A language that ends the name, as in ``20100707.EN.xml``, or is a folder's name."""
    ending = _LANGUAGE.search(path.stem.lower())
    folders = [part.lower() for part in reversed(path.parts[-4:-1])]
    endings = [found[1] for folder in folders if (found := _LANGUAGE.search(folder))]
    candidates = [ending[1] if ending else "", *folders, *endings]
    return next((name for name in candidates if name in _LANGUAGES), "")
