"""Superscripts and subscripts in plain text: 10^6, Na+, H2O, x_i."""

from __future__ import annotations

_ORDINALS = frozenset(["st", "nd", "rd", "th", "er", "re", "ème", "e"])
_SIGNS = "+-−–±,;.*†‡§¶#®™©°′″'’ "


def superscript(base: str, text: str) -> str:
    """What to write for a superscript behind `base`; a caret only where its absence misleads."""
    stripped = text.strip()
    if not stripped.strip(_SIGNS) or not base or base[-1] in " \n(":  # ions, marks, isotopes
        return text
    if stripped in _ORDINALS and base[-1].isdigit():
        return text
    return f"^({stripped})" if " " in stripped else f"^{stripped}"


def subscript(base: str, text: str) -> str:
    """What to write for a subscript behind `base`; chemical formulae are read without a mark."""
    stripped = text.strip()
    if not stripped or not base or base[-1] in " \n(":
        return text
    if stripped.isdecimal() and not base[-1].isdigit():
        return stripped
    return f"_({stripped})" if " " in stripped else f"_{stripped}"


def citation(base: str, text: str) -> str:
    """A superscript that cites: ``risk [3]``, for ``risk3`` would be a number."""
    stripped = text.strip()
    if not any(character.isalnum() for character in stripped):
        return text
    return f"[{stripped}]" if not base or base[-1] in " \n([,–-" else f" [{stripped}]"
