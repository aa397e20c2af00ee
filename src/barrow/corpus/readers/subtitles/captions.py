"""Captions of any common form to cues: SubRip, WebVTT, MicroDVD, SAMI, YouTube's JSON, and XML.

The form is recognised from the text. Lines have no tags, positions, notes or numbers; lines that
rolling captions repeat are still there.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from barrow.corpus.language.codes import language_of_name, language_of_tag
from barrow.corpus.readers.reader import Reject, excerpt
from barrow.corpus.text.html.text import html_to_text
from barrow.corpus.text.xml.events import BadXml, End, Start, Text, xml_events
from barrow.corpus.text.xml.repair import readable_xml

_TIMING = re.compile(r"\s*+(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})(?:[,.:]\s?\d{1,3})?\s*+-->")
_VTT_LANGUAGE = re.compile(r"\nLanguage:[ \t]*+([A-Za-z-]{2,20})")
_INLINE_TIME = re.compile(r"<(?:\d{1,4}:)?\d\d:\d\d\.\d{3}>")
_STYLE_TAG = re.compile(
    r"</?(?:[bisuc]|font|v|ruby|rt|lang|span|br|em|strong)(?:[ .=][^<>\n]*+)?/?>", re.IGNORECASE
)
_OVERRIDE = re.compile(r"\{(?:\\|[A-Za-z]:)[^{}\n]*+\}")
_MICRODVD = re.compile(r"\{(\d{1,9})\}\{\d{0,9}\}(.*)")
_SYNC = re.compile(r"<sync[^<>]*?start\s*+=\s*+[\"']?(\d{1,12})[^<>]*+>", re.IGNORECASE)
_CLASS = re.compile(r"<p[^<>]*?class\s*+=\s*+[\"']?(\w{1,40})[^<>]*+>", re.IGNORECASE)
_CLASS_LANGUAGE = re.compile(r"lang\s*+:\s*+([A-Za-z-]{2,12})", re.IGNORECASE)
_OFFSET = re.compile(r"([0-9.]{1,15})(ms|[hmst]?)")
_CUE_ELEMENTS = {"document": "s", "tt": "p", "transcript": "text", "timedtext": "p"}
_NO_BLANK_BEFORE = re.compile(r"[,.;:!?%)\]}…’”»]++.*|['’]\w++|n['’]t")
_NO_BLANK_AFTER = re.compile(r"[(\[{“«¿¡$£#]|\w++['’]")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]"
)
_UNSEEN: dict[int, None] = dict.fromkeys([0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0xFEFF])


class Cue(NamedTuple):
    """Lines shown together, and the second at which they appear."""

    second: float
    lines: list[str]


class Track(NamedTuple):
    """The cues of a file, its metadata, and the error that ended reading, if any."""

    cues: list[Cue]
    language: str = ""
    is_rolling: bool = False
    rejects: tuple[Reject, ...] = ()


def read_captions(text: str) -> Track:
    """The cues of a file. Reasons: ``bad-xml``, ``bad-json``, ``scenarist``, ``other-language``."""
    text = (
        text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff\n ")
    )
    head = text[:1000].lower()
    if head.startswith("webvtt"):
        return _webvtt(text)
    if head.startswith("scenarist_scc"):
        reject = Reject("scenarist", "codes for a decoder, not text", "", excerpt(text))
        return Track([], rejects=(reject,))
    if _MICRODVD.match(text):
        return _microdvd(text)
    if head.startswith(("{", "[")):
        return _youtube_json(text)
    if "<sami" in head:
        return _sami(text)
    if head.startswith("<"):
        return _xml(text)
    return _subrip(text)


def without_repeats(track: Track) -> list[Cue]:
    """Cues without the lines that rolling captions show again.

    Each cue of such a track begins with the lines the last one ended with. People repeat themselves
    too, so it is done only if times inside the lines, or a third of all cues, show rolling.
    """
    lines = [cue.lines for cue in track.cues]
    again = [0, *(_overlap(*pair) for pair in pairwise(lines))]
    repeats = sum(num > 0 for num in again)
    if not (track.is_rolling or (len(again) > 4 and repeats * 3 > len(again))):
        return track.cues
    return [Cue(cue.second, cue.lines[num:]) for cue, num in zip(track.cues, again, strict=False)]


def _overlap(earlier: list[str], later: list[str]) -> int:
    """How many lines at the end of one are the first lines of the other."""
    most = min(len(earlier), len(later), 4)
    return next((num for num in range(most, 0, -1) if earlier[-num:] == later[:num]), 0)


def _cue(second: float, lines: Iterable[str]) -> Cue:
    """A cue of lines as a person reads them."""
    cleaned = (_OVERRIDE.sub("", _STYLE_TAG.sub("", _INLINE_TIME.sub("", line))) for line in lines)
    texts = (html.unescape(line).translate(_UNSEEN) for line in cleaned)
    return Cue(second, [" ".join(text.split()) for text in texts if text.strip()])


def _start(timing: re.Match[str]) -> float:
    return int(timing[1] or 0) * 3600 + int(timing[2]) * 60 + int(timing[3])


def _subrip(text: str) -> Track:
    """Cues begin at timing lines; a cue may have blank lines; its number precedes its time."""
    cues: list[Cue] = []
    second, lines, is_open = 0.0, list[str](), False
    for line in text.split("\n"):
        timing = _TIMING.match(line) if "-->" in line else None
        if timing is None:
            lines.append(line)
            continue
        if lines and lines[-1].strip().isdecimal():
            lines.pop()
        if is_open:
            cues.append(_cue(second, lines))
        second, lines, is_open = _start(timing), [], True
    if is_open:
        cues.append(_cue(second, lines))
    return Track(cues)


def _webvtt(text: str) -> Track:
    """Blocks between blank lines; those without a time are notes, styles or the header."""
    cues: list[Cue] = []
    second, lines = 0.0, None
    for line in [*text.split("\n"), ""]:
        timing = _TIMING.match(line) if "-->" in line else None
        if lines is not None and (timing or not line):
            cues.append(_cue(second, lines))
            lines = None
        if timing:
            second, lines = _start(timing), list[str]()
        elif lines is not None:
            lines.append(line)
    language = _VTT_LANGUAGE.search(text[:1000])
    is_rolling = _INLINE_TIME.search(text) is not None
    return Track(cues, language_of_tag(language[1]) if language else "", is_rolling)


def _microdvd(text: str) -> Track:
    cues: list[Cue] = []
    rate = 24.0  # frames a second, unless the first cue states it
    for line in text.split("\n"):
        if not (match := _MICRODVD.match(line)):
            continue
        if not cues and re.fullmatch(r"\d\d\.\d{1,3}", match[2].strip()):
            rate = max(1.0, float(match[2]))
            continue
        lines = [piece.removeprefix("/") for piece in match[2].split("|")]
        cues.append(_cue(int(match[1]) / rate, lines))
    return Track(cues)


def _sami(text: str) -> Track:
    """Cues of the first class of paragraphs; other classes are other languages."""
    syncs = list(_SYNC.finditer(text))
    ends = [sync.start() for sync in syncs[1:]] + [len(text)]
    cues: list[Cue] = []
    first, others = "", 0
    for sync, end in zip(syncs, ends, strict=False):
        body = text[sync.end() : end]
        lines = [line for line in html_to_text(_first_paragraph(body)).split("\n") if line]
        name = ((found := _CLASS.search(body)) and found[1].lower()) or ""
        others += len(_CLASS.findall(body)) > 1
        if lines and first and name and name != first:
            others += 1
        elif lines:
            first = first or name
            cues.append(_cue(int(sync[1]) / 1000, lines))
    cause = "paragraphs of other classes than the first"
    rejects = (Reject("other-language", f"{others} {cause}"),) if others else ()
    language = _CLASS_LANGUAGE.search(text[:5000])
    return Track(cues, language_of_tag(language[1]) if language else "", rejects=rejects)


def _first_paragraph(body: str) -> str:
    """What precedes the second paragraph that has a class."""
    classes = _CLASS.finditer(body)
    next(classes, None)
    second = next(classes, None)
    return body[: second.start()] if second else body


def _youtube_json(text: str) -> Track:
    """YouTube's json3: events of segments."""
    try:
        whole = json.loads(text)
        events = whole["events"] if isinstance(whole, dict) else None
        if not isinstance(events, list):
            raise TypeError("expected a list of events")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reject = Reject("bad-json", f"not YouTube's captions: {error}"[:200], "", excerpt(text))
        return Track([], rejects=(reject,))
    cues = []
    for event in events:
        segments = event.get("segs") if isinstance(event, dict) else None
        if isinstance(segments, list):
            words = [s.get("utf8") for s in segments if isinstance(s, dict)]
            said = "".join(word for word in words if isinstance(word, str))
            cues.append(_cue(_seconds(event.get("tStartMs"), 1000), said.split("\n")))
    return Track([cue for cue in cues if cue.lines])


def _seconds(value: Any, rate: float) -> float:
    try:
        second = float(value) / rate
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return second if math.isfinite(second) and second >= 0 else 0.0


def _xml(text: str) -> Track:
    """OpenSubtitles' documents, TTML, and YouTube's srv1 to srv3."""
    reader = _XmlCues()
    try:
        for event in xml_events(readable_xml(text)):
            reader.take(event)
    except BadXml as error:
        reader.end_cue()
        return Track(reader.cues, reader.language, rejects=(_bad_xml(str(error), text),))
    if reader.element is None:
        cause = "no root that holds captions"
        return Track([], rejects=(_bad_xml(cause, text),))
    return Track(reader.cues, reader.language)


def _bad_xml(cause: str, text: str) -> Reject:
    return Reject("bad-xml", cause, "", excerpt(text))


class _XmlCues:
    """Puts the cues of an XML file together, event by event."""

    def __init__(self) -> None:
        self.cues: list[Cue] = []
        self.language = ""
        self.element: str | None = None  # of a cue, by the root
        self._root = ""
        self._path: list[str] = []
        self._second = 0.0
        self._pieces: list[str] | None = None  # of the cue that is open
        self._words: list[str] = []

    def take(self, event: Start | End | Text) -> None:
        if isinstance(event, Start):
            self._begin(event.name.rpartition(":")[2], event.attributes)
        elif isinstance(event, Text):
            self._text(event.data)
        else:
            name = self._path.pop()
            if name == self.element:
                self.end_cue()

    def end_cue(self) -> None:
        """Close the cue that is open."""
        if self._pieces is None:
            return
        said = _sentence(self._words) if self._words else "".join(self._pieces)
        if (cue := _cue(self._second, said.split("\n"))).lines:
            self.cues.append(cue)
        self._pieces, self._words = None, []

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if not self._path:
            self._root, self.element = name, _CUE_ELEMENTS.get(name)
        self._path.append(name)
        if "xml:lang" in attributes and not self.language:
            self.language = language_of_tag(attributes["xml:lang"])
        if name == self.element:
            self.end_cue()
            self._pieces = []
            self._second = self._time(attributes)
        elif name == "br" and self._pieces is not None:
            self._pieces.append("\n")
        elif name == "w":
            self._words.append("")
        elif name == "time" and self._root == "document":
            timing = _TIMING.match(attributes.get("value", "") + "-->")
            self._second = _start(timing) if timing else self._second

    def _time(self, attributes: dict[str, str]) -> float:
        if self._root == "transcript":
            return _seconds(attributes.get("start"), 1)
        if self._root == "timedtext":
            return _seconds(attributes.get("t"), 1000)
        begin = attributes.get("begin", "")
        if timing := _TIMING.match(begin + "-->"):
            return _start(timing)
        units = {"h": 1 / 3600, "m": 1 / 60, "": 1.0, "s": 1.0, "ms": 1000.0, "t": 1e7}
        offset = _OFFSET.fullmatch(begin)
        return _seconds(offset[1], units[offset[2]]) if offset else self._second

    def _text(self, data: str) -> None:
        if self._path[-1] == "w" and self._words:
            self._words[-1] += data
        elif self._pieces is not None:
            # A line break in the source is only a blank; `br` breaks a line.
            self._pieces.append(" ".join(data.split("\n")))
        elif self._path[-1] == "language" and self._root == "document":
            self.language = language_of_name(data) or self.language


def _sentence(words: list[str]) -> str:
    """Words of a tokenised sentence, blanks between them where people write one."""
    pieces = words[:1]
    for earlier, later in pairwise(words):
        joined = _NO_BLANK_BEFORE.fullmatch(later) or _NO_BLANK_AFTER.fullmatch(earlier)
        unspaced = _UNSPACED.match(earlier[-1:]) and _UNSPACED.match(later[:1])
        pieces.append(later if joined or unspaced else f" {later}")
    return "".join(pieces)
