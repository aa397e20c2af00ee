"""Superscripts in plain text."""

from __future__ import annotations

import re

# What is a power after a number, a unit, a variable or a bracket: 6, -3, 1/2, n. Charges such as
# 2+, ordinals and marks are read on as they are.
_SIGN = "[-+\u2212\u2013]"
_POWER = re.compile(rf"{_SIGN}?[0-9]{{1,9}}(?:[./][0-9]{{1,9}})?|{_SIGN}?[a-zA-Z]")
_LONGER = re.compile(rf"\(?([0-9a-zA-Z.]*+{_SIGN}[0-9a-zA-Z./]++)\)?")


def superscript(base: str, raised: str) -> str:
    """What `raised` is written as after `base`: 10 and 6 make ``10^6``, 46 and th make ``46th``."""
    before, plain = base[-1:], raised.strip()
    if not (before.isalnum() or before in tuple(")]")):
        return raised
    if _POWER.fullmatch(plain):
        return f"^{raised.lstrip()}"
    longer = _LONGER.fullmatch(plain)
    return f"^({longer[1]})" if longer else raised
