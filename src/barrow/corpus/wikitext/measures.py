"""Templates of numbers and units."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barrow.corpus.wikitext.templates import Arguments

_NUMBER = re.compile(r"[+\-\u2212]?[0-9][0-9.,]*+(?:[eE/\u2044+-][0-9+\-/]++)?+")
# Words between two numbers of one measure, and how they are shown.
_BETWEEN = {"-": "\u2013", "\u2013": "\u2013", "to": " to ", "and": " and ", "or": " or "}
_BETWEEN |= {"by": " by ", "to(-)": " to ", "&": " and ", "and(-)": " and ", "+": " + ", "/": "/"}
_BETWEEN |= dict.fromkeys(("x", "xx", "*", "\u00d7"), " \u00d7 ")
_BETWEEN |= dict.fromkeys(("+/-", "+-", "\u00b1"), " \u00b1 ")
# Codes of units that are not how the unit is written.
_UNITS = {
    "C": "\u00b0C", "F": "\u00b0F", "C-change": "\u00b0C", "F-change": "\u00b0F",
    "sqmi": "sq mi", "sqft": "sq ft", "sqyd": "sq yd", "sqin": "sq in", "sqkm": "km^2",
    "km2": "km^2", "m2": "m^2", "cm2": "cm^2", "mm2": "mm^2", "ft2": "sq ft", "mi2": "sq mi",
    "m3": "m^3", "km3": "km^3", "cm3": "cm^3", "ft3": "cu ft", "in3": "cu in", "cuft": "cu ft",
    "cumi": "cu mi", "cuyd": "cu yd", "cuin": "cu in", "acre": "acres", "mile": "miles",
    "foot": "feet", "inch": "inches", "pound": "pounds", "USgal": "US gal", "impgal": "imp gal",
    "usgal": "US gal", "LT": "long tons", "long ton": "long tons", "ST": "short tons",
    "short ton": "short tons", "ozt": "troy oz", "smi": "mi", "nmi": "nautical miles",
    "PD/sqkm": "/km^2", "PD/sqmi": "/sq mi", "/sqmi": "/sq mi", "/km2": "/km^2",
    "/sqkm": "/km^2", "kg/m3": "kg/m^3", "g/cm3": "g/cm^3", "m/s2": "m/s^2", "um": "\u03bcm",
    "angstrom": "\u00c5",
}  # fmt: skip
_SCALED = re.compile(r"e(3|6|9|12)([A-Za-z].*)")
_SCALES = {"3": "thousand", "6": "million", "9": "billion", "12": "trillion"}


def convert(given: Arguments) -> str:
    """``{{convert|5|to|10|km|mi}}``: the measure as the author gave it, ``5 to 10 km``."""
    shown: list[str] = []
    number = ""
    parts = iter(given.at)
    for part in parts:
        if _NUMBER.match(part):
            number += _with_commas(part.replace("-", "\u2212", 1) if part[0] == "-" else part)
        elif not number:
            return ""
        elif part in _BETWEEN:
            number += _BETWEEN[part]
        else:
            joint = "-" if given.get("adj") in ("on", "mid") else " "
            unit = unit_name(part)
            shown.append(f"{number}{'' if unit[0] in '/' else joint}{unit}")
            # Feet and inches: another number with its unit may follow, but not the target unit.
            number = next(parts, "")
            if not _NUMBER.match(number) or part not in ("ft", "lb", "st", "mi", "yd", "\u00b0"):
                number = ""
                break
    return " ".join([*shown, number]).strip() if shown or number else ""


def _with_commas(number: str) -> str:
    """1234.5 as MediaWiki shows it: 1,234.5."""
    whole, point, rest = number.partition(".")
    if len(whole) > 30 or not (whole.isascii() and whole.isdecimal()) or whole.startswith("0"):
        return number
    return f"{int(whole):,}{point}{rest}"


def unit_name(code: str) -> str:
    """How a unit is written whose code this is."""
    if scaled := _SCALED.fullmatch(code):
        return (
            f"{_SCALES[scaled[1]]} {unit_name(scaled[2])}" if code not in _UNITS else _UNITS[code]
        )
    return _UNITS.get(code, code) or "units"


def value(given: Arguments) -> str:
    """``{{val|1.2|0.3|e=6|u=m}}`` shows ``1.2±0.3×10^6 m``."""
    if not given.first():
        return ""
    error = given.at[1] if len(given.at) > 1 else ""
    shown = given.first() + (f"\u00b1{error}" if error.replace(".", "").isdecimal() else "")
    if power := given.get("e"):
        shown = f"({shown})" if "\u00b1" in shown else shown
        shown += f"\u00d710^{power}"
    under = f"/{per}" if (per := given.get("up", "upl")) and given.get("u", "ul") != per else ""
    shown = given.get("p") + shown + given.get("s")
    unit = given.get("u", "ul") + under
    return f"{shown} {unit}".strip()


def fraction(given: Arguments) -> str:
    """``{{frac|1|2|3}}`` shows ``1 2/3``."""
    parts = [part for part in given.at if part]
    if len(parts) == 1:
        return f"1/{parts[0]}"
    return " ".join([*parts[:-2], "/".join(parts[-2:])])
