"""What subtitles are made of: a few words, and when they are to be seen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from tests.samples.pieces import Article

_SECONDS = 4
_WIDTH = 40


class Cue(NamedTuple):
    """One or two lines and the seconds from which to which they are shown."""

    start: int
    stop: int
    lines: tuple[str, ...]


def cues(article: Article) -> Iterator[Cue]:
    """The sentences of an article in lines of 40 characters, two at a time."""
    start = 0
    for sentence in article.sentences:
        lines = textwrap.wrap(sentence, _WIDTH, break_on_hyphens=False, break_long_words=False)
        for place in range(0, len(lines), 2):
            yield Cue(start, start + _SECONDS - 1, tuple(lines[place : place + 2]))
            start += _SECONDS


def clock(seconds: int, *, point: str = ".") -> str:
    """Hours, minutes, seconds and thousandths."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{point}000"
