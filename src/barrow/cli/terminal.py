"""Text that is safe to show on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text without control characters that would act on the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)
