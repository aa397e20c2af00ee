"""The result of a check: a category and a place in the UTF-8 text."""

from __future__ import annotations

from typing import NamedTuple

CATEGORIES = ("email", "phone", "ip", "secret", "card", "bank", "ssn")


class Found(NamedTuple):
    """``data[start:stop]`` is personal data of a category."""

    category: str
    start: int
    stop: int
