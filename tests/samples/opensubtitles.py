"""Subtitles of films that were never made: SubRip, and OpenSubtitles' XML in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from tests.samples.cues import clock, cues
from tests.samples.packing import gzipped
from tests.samples.pieces import Article

_STOPS = ",.;:!?"
_WORDS = re.compile(rf"[^\s{_STOPS}]+(?:[{_STOPS}]+[^\s{_STOPS}]+)*|[{_STOPS}]")


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """XML and SubRip in turn."""
    for number, article in enumerate(articles, 1):
        if number % 2:
            yield f"xml/en/2020/{number}/1.xml.gz", gzipped(_xml(article).encode())
        else:
            yield f"srt/film {number}.en.srt", _subrip(article).encode()


def _subrip(article: Article) -> str:
    blocks = []
    for place, cue in enumerate(cues(article), 1):
        start, stop = (clock(second, point=",") for second in (cue.start, cue.stop))
        first, *rest = cue.lines
        first = f"<i>{first}</i>" if place % 7 == 0 else first
        blocks.append("\r\n".join((str(place), f"{start} --> {stop}", first, *rest, "")))
    return "\r\n".join(blocks) + "\r\n"


def _xml(article: Article) -> str:
    found: list[str] = []
    for place, cue in enumerate(cues(article), 1):
        words = _WORDS.findall(" ".join(cue.lines))
        marked = "\n".join(
            f'<w id="{place}.{k}">{escape(word)}</w>' for k, word in enumerate(words, 1)
        )
        found.append(
            f'<s id="{place}">\n<time id="T{place}S" value="{clock(cue.start, point=",")}" />\n'
            f'{marked}\n<time id="T{place}E" value="{clock(cue.stop, point=",")}" />\n</s>\n'
        )
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<document id="1">\n{"".join(found)}</document>\n'
    )
