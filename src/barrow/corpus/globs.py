"""Patterns in which ``*`` stands for any characters, and nothing else is special."""

from __future__ import annotations


def glob_matches(pattern: str, text: str) -> bool:
    """Whether a pattern describes the whole of a text; in time that grows with their sizes only."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == text
    last = others.pop()
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in others:
        # The earliest place leaves the most room for the rest.
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
