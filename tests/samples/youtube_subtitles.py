"""Captions of videos that were never made: WebVTT, and YouTube's json3."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html import escape

from tests.samples.cues import clock, cues
from tests.samples.pieces import Article


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """Two in three as WebVTT."""
    for number, article in enumerate(articles, 1):
        if number % 3:
            yield f"talk {number}.en.vtt", _webvtt(article).encode()
        else:
            yield f"talk {number}.en.json3", _json3(article).encode()


def _webvtt(article: Article) -> str:
    blocks = ["WEBVTT\nKind: captions\nLanguage: en\n", "NOTE made for a demonstration\n"]
    for place, cue in enumerate(cues(article), 1):
        first, *rest = (escape(line, quote=False) for line in cue.lines)
        if place == 1:
            first = f"<v Speaker>{first}"
        times = f"{clock(cue.start)} --> {clock(cue.stop)} align:start position:0%"
        blocks.append("\n".join((str(place), times, first, *rest, "")))
    return "\n".join(blocks)


def _json3(article: Article) -> str:
    events = [
        {
            "tStartMs": 1000 * cue.start,
            "dDurationMs": 1000 * (cue.stop - cue.start),
            "segs": [{"utf8": "\n".join(cue.lines)}],
        }
        for cue in cues(article)
    ]
    return json.dumps({"wireMagic": "pb3", "events": events})
