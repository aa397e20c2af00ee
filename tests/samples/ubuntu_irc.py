"""Chat logs of a channel, a file a day."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from tests.samples.people import nick
from tests.samples.pieces import Article

_FIRST_MONDAY = date(2008, 1, 7)
_MOODS = ("nods", "waves", "looks it up", "will try that")


def files(articles: Iterable[Article]) -> Iterator[tuple[str, bytes]]:
    """A week for each article: it is talked over on two days, a sentence a message."""
    for week, article in enumerate(articles):
        said = article.sentences
        half = (len(said) + 1) // 2
        for day, messages in enumerate((said[:half], said[half:])):
            if messages:
                when = _FIRST_MONDAY + timedelta(weeks=week, days=2 * day)
                yield f"#pocket-{when}.log", "".join(_lines(messages, week + day)).encode()


def _lines(messages: list[str], start: int) -> Iterator[str]:
    """Two people talk; others come and go."""
    yield f"=== {nick(start)} [~{nick(start)}@example.org] has joined #pocket\n"
    for place, message in enumerate(messages):
        who = nick(start + place % 2)
        yield f"[{9 + place // 60:02}:{place % 60:02}] <{who}> {message}\n"
        if place % 5 == 4:
            yield f"[{9 + place // 60:02}:{place % 60:02}]  * {who} {_MOODS[start % 4]}\n"
    yield f"=== {nick(start + 1)} [~{nick(start + 1)}@example.org] has left #pocket []\n"
