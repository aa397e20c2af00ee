"""Templates of dates."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barrow.corpus.wikitext.templates import Arguments

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


def date(given: Arguments) -> str:
    """``{{birth date|1950|1|2}}`` shows ``January 2, 1950``, with ``df=y`` ``2 January 1950``."""
    if not given.first().isdecimal():
        return (
            " ".join(filter(None, given.at[:2])) if given.name == "oldstyledate" else given.first()
        )
    day_first = given.get("df").lower() in ("y", "yes", "1", "true")
    return written_date(given.at[:3], day_first=day_first)


def as_of(given: Arguments) -> str:
    """``{{as of|2010|5}}`` shows ``As of May 2010``."""
    if words := given.get("alt"):
        return words
    since = "since" if given.get("since") else "as of"
    words = since if given.get("lc") else since.capitalize()
    if given.get("bare"):
        words = ""
    # Day first, unless told otherwise, unlike other templates.
    return (
        f"{words} {written_date(given.at[:3], day_first=given.get('df').lower() != 'us')}".strip()
    )


def written_date(parts: list[str], *, day_first: bool) -> str:
    """Year, month and day in words, as many of them as there are."""
    year, month, day = [*(part.strip() for part in parts), "", "", ""][:3]
    if month.isdecimal():
        month = month.lstrip("0")
    if month.isdecimal() and len(month) < 3 and int(month) <= 12:
        month = _MONTHS[int(month) - 1]
    if day.isdecimal():
        day = day.lstrip("0")
    if not month or not day:
        return " ".join(filter(None, (month, year)))
    if day_first or not year:
        return " ".join(filter(None, (day, month, year) if day_first else (month, day)))
    return f"{month} {day}, {year}"
