"""Contrast of two colours, as the Web Content Accessibility Guidelines define it."""

from __future__ import annotations


def contrast(one: str, other: str) -> float:
    """From 1 to 21, of two colours written #rgb or #rrggbb."""
    bright, dim = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _luminance(colour: str) -> float:
    code = colour.removeprefix("#")
    if len(code) == 3:
        code = "".join(2 * digit for digit in code)
    values = [int(code[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    parts = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
