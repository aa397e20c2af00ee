"""Templates of numbers and units."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barrow.corpus.text.wikitext.templates import Arguments
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barrow.corpus.text.wikitext.templates import Arguments


_NUMBER = re.compile(r"[+\-\u2212]?\.?[0-9][0-9.,]*+(?:[eE/\u2044+-][0-9+\-/]++)?+")
# Words between two numbers of one measure, and how they are shown.
_BETWEEN = {"-": "\u2013", "\u2013": "\u2013", "to": " to ", "and": " and ", "or": " or "}
_BETWEEN |= {"by": " by ", "to(-)": " to ", "&": " and ", "and(-)": " and ", "+": " + ", "/": "/"}
_BETWEEN |= {"&ndash;": "\u2013", "to about": " to about ", ",": ", ", ", and": ", and "}
_BETWEEN |= {", or": ", or ", "through": " through ", "thru": " through "}
_BETWEEN |= dict.fromkeys(("x", "xx", "*", "\u00d7", "&times;"), " \u00d7 ")
_BETWEEN |= dict.fromkeys(("+/-", "+-", "\u00b1", "&plusmn;"), " \u00b1 ")
# Codes of units that differ from their written form.
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
# The singular of units that are words.
_ONE = {
    "acre": "acre", "mile": "mile", "foot": "foot", "inch": "inch", "pound": "pound",
    "LT": "long ton", "long ton": "long ton", "ST": "short ton", "short ton": "short ton",
    "nmi": "nautical mile",
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
            number += _written(part)
        elif not number:
            return ""
        elif part in _BETWEEN:
            number += _BETWEEN[part]
        else:
            joint = "-" if given.get("adj") in ("on", "mid") else " "
            unit = unit_name(part, one=joint == "-" or number in ("1", "\u22121"))
            shown.append(f"{number}{'' if unit[0] in '/' else joint}{unit}")
            # Feet and inches: another number with its unit may follow, but not the target unit.
            number = next(parts, "")
            if not _NUMBER.match(number) or part not in ("ft", "lb", "st", "mi", "yd", "\u00b0"):
                break
            number = _written(number)
    # A number without a unit is the number of digits shown of the other unit.
    return " ".join(shown) or number.strip()


def _written(number: str) -> str:
    """-1234.5 as MediaWiki shows it: −1,234.5."""
    sign = number[0].replace("-", "\u2212") if number[0] in "+-\u2212" else ""
    whole, point, rest = number[len(sign) :].partition(".")
    if len(whole) <= 30 and whole.isascii() and whole.isdecimal() and not whole.startswith("0"):
        whole = f"{int(whole):,}"
    return f"{sign}{whole or '0'}{point}{rest}"


def unit_name(code: str, *, one: bool = False) -> str:
    """The written form of a unit's code, singular or plural."""
    scale = ""
    if code not in _UNITS and (scaled := _SCALED.fullmatch(code)):
        scale, code = f"{_SCALES[scaled[1]]} ", scaled[2]
    name = _ONE.get(code) if one else None
    return scale + (name or _UNITS.get(code, code) or "units")


def value(given: Arguments) -> str:
    """``{{val|1.2|0.3|e=6|u=m}}`` shows ``(1.2±0.3)×10^6 m``, ``{{val|5|2|1}}`` ``5+2−1``."""
    if not given.first():
        return ""
    error = _error(*[*given.at[1:3], "", ""][:2])
    shown = given.first() + error
    if power := given.get("e"):
        shown = f"({shown})" if error and error[0] != "(" else shown
        shown += f"\u00d710^{power}"
    under = f"/{per}" if (per := given.get("up", "upl")) and given.get("u", "ul") != per else ""
    shown = given.get("p") + shown + given.get("s")
    unit = given.get("u", "ul") + under
    return f"{shown} {unit}".strip()


def _error(up: str, down: str) -> str:
    """``±up``, ``+up−down``, or ``(up)`` of the last digits."""
    if up.startswith("(") and up.endswith(")"):
        return up
    up, down = up.lstrip("+"), down.lstrip("-\u2212")
    if not up.replace(".", "").isdecimal():
        return ""
    return f"+{up}\u2212{down}" if down.replace(".", "").isdecimal() else f"\u00b1{up}"


def fraction(given: Arguments) -> str:
    """``{{frac|1|2|3}}`` shows ``1 2/3``."""
    parts = [part for part in given.at if part]
    if len(parts) == 1:
        return f"1/{parts[0]}"
    return " ".join([*parts[:-2], "/".join(parts[-2:])])


_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)


def date(given: Arguments) -> str:
    """``{{birth date|1950|1|2}}`` shows ``January 2, 1950``, with ``df=y`` ``2 January 1950``."""
    if not given.first().isdecimal():
        return (
            " ".join(filter(None, given.at[:2])) if given.name == "oldstyledate" else given.first()
        )
    day_first = given.get("df").lower() in ("y", "yes", "1", "true")
    return written_date(given.at[:3], day_first=day_first)


def as_of(given: Arguments) -> str:
    """``{{as of|2010|5}}`` shows ``As of May 2010``."""
    if words := given.get("alt"):
        return words
    since = "since" if given.get("since") else "as of"
    words = since if given.get("lc") else since.capitalize()
    if given.get("bare"):
        words = ""
    # Day first unless set otherwise; other templates differ.
    return (
        f"{words} {written_date(given.at[:3], day_first=given.get('df').lower() != 'us')}".strip()
    )


def written_date(parts: list[str], *, day_first: bool) -> str:
    """Year, month and day in words, as many of them as there are."""
    year, month, day = [*(part.strip() for part in parts), "", "", ""][:3]
    if month.isdecimal():
        month = month.lstrip("0")
    if month.isdecimal() and len(month) < 3 and int(month) <= 12:
        month = _MONTHS[int(month) - 1]
    if day.isdecimal():
        day = day.lstrip("0")
    if not month or not day:
        return " ".join(filter(None, (month, year)))
    if day_first or not year:
        return " ".join(filter(None, (day, month, year) if day_first else (month, day)))
    return f"{month} {day}, {year}"


LANGUAGE_LABELS = {
    "ang": "Old English", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian",
    "bg": "Bulgarian", "bn": "Bengali", "bo": "Tibetan", "br": "Breton", "bs": "Bosnian",
    "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque",
    "fa": "Persian", "fi": "Finnish", "fr": "French", "fro": "Old French", "ga": "Irish",
    "gd": "Scottish Gaelic", "gl": "Galician", "grc": "Ancient Greek",
    "grc-gre": "Ancient Greek", "gu": "Gujarati", "haw": "Hawaiian", "he": "Hebrew",
    "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian",
    "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh",
    "km": "Khmer", "kn": "Kannada", "ko": "Korean", "ku": "Kurdish", "ky": "Kyrgyz",
    "la": "Latin", "lb": "Luxembourgish", "lt": "Lithuanian", "lv": "Latvian",
    "mi": "M\u0101ori", "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian",
    "mr": "Marathi", "ms": "Malay", "mt": "Maltese", "my": "Burmese", "ne": "Nepali",
    "nl": "Dutch", "no": "Norwegian", "non": "Old Norse", "pa": "Punjabi", "pl": "Polish",
    "ps": "Pashto", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sa": "Sanskrit",
    "si": "Sinhala", "sk": "Slovak", "sl": "Slovene", "so": "Somali", "sq": "Albanian",
    "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu",
    "tg": "Tajik", "th": "Thai", "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian",
    "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese", "yi": "Yiddish", "zh": "Chinese",
}  # fmt: skip
