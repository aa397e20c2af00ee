"""Dates as bibliographies write them: year, and perhaps month and day."""

from __future__ import annotations

import datetime

Parts = dict[str, str]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def iso_date(parts: Parts) -> str:
    """``2012-10-05``, ``2012-10`` or ``2012``, from year, month (its number or name) and day.

    Empty without a year. An impossible day or month is left out.
    """
    year = parts.get("year", "").strip()
    if not (len(year) == 4 and year.isascii() and year.isdecimal() and year > "1500"):
        return ""
    month = month_number(parts.get("month", ""))
    if not month:
        return year
    try:
        day = int(parts.get("day", "").strip()[:2])
        return datetime.date(int(year), month, day).isoformat()
    except ValueError:
        return f"{year}-{month:02}"


def month_number(name: str) -> int:
    """1 to 12; 0 if it is not the name of a month."""
    name = name.strip().lower()
    if name.isascii() and name.isdecimal() and len(name) <= 2:
        return int(name) if 1 <= int(name) <= 12 else 0
    return _MONTHS.index(name[:3]) + 1 if name[:3] in _MONTHS else 0
