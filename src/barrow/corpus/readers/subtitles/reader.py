"""Subtitles: OpenSubtitles' XML, SubRip, WebVTT, TTML, SAMI, MicroDVD and YouTube's own forms.

The text is the spoken lines, one per line of a cue, with sound cues such as ``[door closes]``.
Times, positions, styles, notes and numbers are dropped, and lines that rolling captions repeat.
OpenSubtitles' tokenised words are put together as people write them. For YouTube, each minute is a
paragraph, as in The Pile. `meta` has ``title`` and ``language`` where path or file state them, and
for YouTube ``kind``: ``community``, ``auto_generated`` or ``captions``.

The form of a file is recognised from its content, not its name. Scenarist's (SCC) is refused: it
holds codes for a decoder, not text.

Licence: subtitles derive from works that others own and carry no licence of their own; The Pile's
authors count both sets as not licence-compliant. For users with rights to their data.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.input.open_raw import load_raw, shown
from barrow.corpus.language.codes import language_of_name, language_of_tag
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt
from barrow.corpus.readers.subtitles.captions import Cue, Track, read_captions, without_repeats
from barrow.corpus.text.encoding import decode
from barrow.corpus.text.whitespace import tidy
from barrow.corpus.text.xml.repair import declared_encoding

_KINDS = ("auto_generated", "community", "captions")
_NO_TITLE = re.compile(r"(?:auto_generated|community|captions?|subtitles?|transcript|[\d_-])\w*+")
_CORPORA = frozenset(["xml", "raw", "parsed", "mono"])  # OPUS: xml/de/1994/110357/1234.xml.gz
_SUFFIXES = ("xml", "xml.gz", "srt", "vtt", "ttml", "dfxp", "smi", "sami", "sub", "scc")
_YOUTUBE_SUFFIXES = (*_SUFFIXES, "json3", "srv1", "srv2", "srv3")


@dataclass(frozen=True)
class OpenSubtitles(Reader):
    """Subtitles (OpenSubtitles XML, SRT, WebVTT, TTML …): a document per file, a line per cue.

    More than `max_bytes`, also when unpacked, is rejected. Reasons: those of `load_raw` and
    `read_captions`, ``unknown-encoding``, ``bad-gzip``, ``no-cues``.
    """

    max_bytes: int = 1 << 26

    extractor = "opensubtitles/2"
    patterns = tuple(f"**/*.{suffix}" for suffix in _SUFFIXES)

    def read(self, path: Path) -> Iterator[Item]:
        return _read(path, self.max_bytes, _as_lines)


@dataclass(frozen=True)
class YoutubeSubtitles(Reader):
    """YouTube captions: as `OpenSubtitles`, with a blank line between minutes."""

    max_bytes: int = 1 << 26

    extractor = "youtube_subtitles/2"
    patterns = tuple(f"**/*.{suffix}" for suffix in _YOUTUBE_SUFFIXES)

    def read(self, path: Path) -> Iterator[Item]:
        return _read(path, self.max_bytes, _by_minute, find_kind=_kind)


def _read(
    path: Path,
    max_bytes: int,
    arrange: Callable[[list[Cue]], str],
    find_kind: Callable[[Path, Track], str] = lambda *_: "",
) -> Iterator[Item]:
    data = load_raw(path, max_bytes=max_bytes)
    if isinstance(data, Reject):
        yield data
        return
    rejects: list[Reject] = []
    if data.startswith(b"\x1f\x8b"):
        data, rejects = _unpacked(data, max_bytes)
    found = decode(data, declared_encoding(data))
    if found is None:
        yield Reject("unknown-encoding", "unknown encoding", "", excerpt(data))
        return
    track = read_captions(found[0])
    rejects += track.rejects
    text = tidy(arrange([cue for cue in without_repeats(track) if cue.lines]))
    if text:
        values = {"title": _title(path), "language": _language(path) or track.language}
        values["kind"] = find_kind(path, track)
        yield Document(text, {key: value for key, value in values.items() if value})
    elif not rejects:
        rejects = [Reject("no-cues", "no cue with text in it", "", excerpt(found[0]))]
    yield from rejects


def _kind(path: Path, track: Track) -> str:
    """Who wrote the captions, from the file's name, or from times of words, which machines add."""
    name = path.name.lower()
    machine = "auto_generated" if track.is_rolling else ""
    return next((kind for kind in _KINDS if name.startswith(kind)), machine)


def _as_lines(cues: list[Cue]) -> str:
    return "\n".join(line for cue in cues for line in cue.lines)


def _by_minute(cues: list[Cue]) -> str:
    minutes = groupby(cues, key=lambda cue: int(cue.second // 60))
    return "\n\n".join(_as_lines(list(group)) for _, group in minutes)


def _unpacked(data: bytes, max_bytes: int) -> tuple[bytes, list[Reject]]:
    """The bytes of a gzip file; what precedes damage, or nothing of more than `max_bytes`."""
    inflate = zlib.decompressobj(wbits=31)
    try:
        unpacked = inflate.decompress(data, max_bytes + 1)
    except zlib.error as error:
        return b"", [Reject("bad-gzip", str(error), "", excerpt(data))]
    if len(unpacked) > max_bytes:
        return b"", [Reject("too-large", f"more than {max_bytes:,} bytes unpacked")]
    if not inflate.eof:
        return unpacked, [Reject("bad-gzip", "truncated")]
    return unpacked, []


def _stem(path: Path) -> tuple[str, str]:
    """File name without suffixes, and the language tag that was one, as in ``talk.pt-BR.vtt``."""
    name = path.name.removesuffix(".gz")
    stem = name[: name.rfind(".")] if "." in name else name
    before, dot, last = stem.rpartition(".")
    return (before, language_of_tag(last)) if dot and language_of_tag(last) else (stem, "")


def _language(path: Path) -> str:
    """What the name or a folder says: ``.de.vtt``, ``/german/``, or OPUS's ``xml/de/``."""
    _, language = _stem(path)
    folders = path.parts[-7:-1]
    named = [language_of_name(folder) for folder in reversed(folders)]
    coded = [
        language_of_tag(folder) for above, folder in pairwise(folders) if above.lower() in _CORPORA
    ]
    return next((code for code in (language, *named, *coded) if code), "")


def _title(path: Path) -> str:
    """The name of the file, or, if that is not a title, of the nearest folder."""
    stem, _ = _stem(path)
    if _NO_TITLE.fullmatch(stem.lower()):
        folders = (f for f in reversed(path.parts[-3:-1]) if not language_of_name(f))
        stem = next(folders, "")
        stem = "" if _NO_TITLE.fullmatch(stem.lower()) else stem
    return tidy(shown(stem))
