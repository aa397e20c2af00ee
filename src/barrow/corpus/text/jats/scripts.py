"""Superscripts and subscripts in plain text: 10^6, Na+, H2O, x_i."""

from __future__ import annotations

_ORDINALS = frozenset(["st", "nd", "rd", "th", "er", "re", "ème", "e"])
_SIGNS = "+-−–±,;.*†‡§¶#®™©°′″'’ "


def superscript(base: str, text: str) -> str:
    """The text of a superscript after `base`; a caret only where it is needed."""
    stripped = text.strip()
    if not stripped.strip(_SIGNS) or not base or base[-1] in " \n(":  # ions, marks, isotopes
        return text
    if stripped in _ORDINALS and base[-1].isdigit():
        return text
    return f"^({stripped})" if " " in stripped else f"^{stripped}"


def subscript(base: str, text: str) -> str:
    """The text of a subscript after `base`; chemical formulas need no mark."""
    stripped = text.strip()
    if not stripped or not base or base[-1] in " \n(":
        return text
    if stripped.isdecimal() and not base[-1].isdigit():
        return stripped
    return f"_({stripped})" if " " in stripped else f"_{stripped}"


def citation(base: str, text: str) -> str:
    """A superscript that is a citation: ``risk [3]``, not ``risk3``."""
    stripped = text.strip()
    if not any(character.isalnum() for character in stripped):
        return text
    return f"[{stripped}]" if not base or base[-1] in " \n([,–-" else f" [{stripped}]"
