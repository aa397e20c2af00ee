"""Sections of a datasheet that its owner writes and later builds keep."""

from __future__ import annotations

import re

_PLACE = re.compile(r"<!-- owner: ([a-z-]+) -->\n")


def place(name: str, question: str) -> str:
    """An empty section, between its marks."""
    return (
        f"<!-- owner: {name} -->\n\n"
        f"*For the owner of the corpus to write, between these marks, which every later build "
        f"keeps: {question}*\n\n"
        f"{_end(name)}"
    )


def carry_over(fresh: str, existing: str) -> str:
    """A new datasheet with the owner's sections of an existing one.

    Where an end mark is missing, a section extends to the next one, or to the end: it is better to
    keep too much than too little.
    """
    for start in _PLACE.finditer(existing):
        name = start[1]
        following = _PLACE.search(existing, start.end())
        stop = existing.find(_end(name), start.end())
        if stop < 0 or (following and stop > following.start()):
            stop = following.start() if following else len(existing)
        here = fresh.find(start[0])
        end = fresh.find(_end(name), here)
        if here >= 0 and end >= 0:
            fresh = fresh[: here + len(start[0])] + existing[start.end() : stop] + fresh[end:]
    return fresh


def _end(name: str) -> str:
    return f"<!-- /owner: {name} -->"
