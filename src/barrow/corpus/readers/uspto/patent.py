"""What all formats of patents have in common."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple

from barrow.corpus.text.dates import month_number

_IN_NUMBERS = re.compile(r"([0-9]{4})[-/]?([0-9]{2})[-/]?([0-9]{2})")
_IN_WORDS = re.compile(r"([A-Za-z]{3,9})\.? ([0-9]{1,2}), ?([0-9]{4})")

# The part of a patent that a block belongs to. An aside is about the patent, not the invention:
# related applications, funding. A `background` is marked as such; few formats do.
Part = Literal["", "abstract", "aside", "background", "body", "drawings", "detail", "claims"]


class Block(NamedTuple):
    """A heading or paragraph; lists have a line for each entry."""

    is_heading: bool
    part: Part
    text: str


class NotAPatent(ValueError):
    """The data is something else; the message says what."""


@dataclass
class Patent:
    """The front page, as far as it was read."""

    number: str = ""
    kind_code: str = ""
    date: str = ""
    country: str = ""
    title: str = ""
    sort: str = ""  # utility, design, plant, reissue
    is_application: bool = False

    @property
    def name(self) -> str:
        """Country, number and kind, as patents are cited: US7272630B2."""
        return f"{self.country or 'US'}{self.number}{self.kind_code}" if self.number else ""


def plain_number(number: str) -> str:
    """A number without padding zeros: 07272630 is 7272630, D0435854 is D435854."""
    number = "".join(
        character for character in number if character.isascii() and character.isalnum()
    )
    letters = number.rstrip("0123456789")
    digits = number[len(letters) :]
    return letters[:4] + (digits[:20].lstrip("0") if len(letters) <= 4 else "")


def iso_date(value: str) -> str:
    """A date YYYYMMDD, YYYY-MM-DD or ``June 16, 1992`` in ISO 8601, or nothing."""
    if words := _IN_WORDS.fullmatch(value.strip()):
        year, month, day = words[3], month_number(words[1]), words[2]
    elif numbers := _IN_NUMBERS.fullmatch(value.strip()):
        year, month, day = numbers[1], int(numbers[2]), numbers[3]
    else:
        return ""
    try:
        return date(int(year), month, int(day)).isoformat()
    except ValueError:
        return ""


def sort_of(number: str) -> str:
    """Of which sort a patent is, by the letters its number begins with."""
    letters = number.rstrip("0123456789").upper()
    return {"D": "design", "PP": "plant", "RE": "reissue"}.get(letters, "")
