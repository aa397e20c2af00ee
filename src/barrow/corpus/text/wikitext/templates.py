"""Templates that are part of a sentence, as the words they show.

A page without its templates lacks numbers, dates and foreign words. The frequent ones are handled
here; all others (infoboxes, navigation, citations, notices) are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from barrow.corpus.text.wikitext.marks import BREAK, GONE, PIPE
from barrow.corpus.text.wikitext.template_values import (
    LANGUAGE_LABELS,
    as_of,
    convert,
    date,
    fraction,
    value,
)

_NAME = re.compile(r"\s*+([^|{}<\n\[\]]*+)")
_NAMED = re.compile(r"\s*+([^\s<>\[\]=|{}\"'][^<>\[\]=|{}\"']{0,30}+)=")
_BRACKETED = re.compile(r"\[[^\[\]]*+\]")
# {{lang-fr|…}}, {{IPA-de|…}}, {{script/Hebr|…}}: one for each language.
_FAMILY = re.compile(r"(lang|ipac|ipa|script|convert|cvt)[-/][a-z0-9-]{2,16}")


class Arguments(NamedTuple):
    """The arguments of a template, stripped."""

    name: str
    at: list[str]
    named: dict[str, str]
    in_english: bool

    def get(self, *names: str) -> str:
        """The first of these that is given and not empty."""
        return next((self.named[name] for name in names if self.named.get(name)), "")

    def first(self) -> str:
        return self.at[0] if self.at else ""

    def last(self) -> str:
        return self.at[-1] if self.at else ""


Render = Callable[[Arguments], str]


def template_name(text: str, start: int) -> str:
    """The name of the template whose contents begin here, as `TEMPLATES` has it."""
    found = _NAME.match(text, start)
    name = found[1] if found else ""
    name = name.replace("_", " ").replace(GONE, "").strip().lower().removeprefix("template:")
    if name in TEMPLATES:
        return name
    if family := _FAMILY.fullmatch(name):
        return f"{family[1]}-"
    function, colon, _ = name.partition(":")
    return f"{function}:" if colon else name


def render_template(contents: str, *, in_english: bool) -> str:
    """What a template whose name is in `TEMPLATES` shows, on a wiki in English or another."""
    render = TEMPLATES.get(template_name(contents, 0))
    if render is None:
        return GONE
    if "[" in contents:
        contents = _BRACKETED.sub(lambda found: found[0].replace("|", PIPE), contents)
    name, *parts = contents.split("|")
    numbered: dict[int, str] = {}
    named: dict[str, str] = {}
    count = 0
    for part in parts:
        found = _NAMED.match(part) if "=" in part else None
        if found is None:
            count += 1
            numbered[count] = part.strip()
        elif (key := found[1].strip().lower()).isdecimal() and len(key) < 3:
            numbered[int(key)] = part[found.end() :].strip()
        else:
            named[key] = part[found.end() :].strip()
    at = [numbered.get(number, "") for number in range(1, max(numbered, default=0) + 1)]
    shown = render(Arguments(name.replace(GONE, "").strip().lower(), at, named, in_english))
    return shown.replace("|", PIPE) or GONE


# One argument -------------------------------------------------------------------------------------


def _nth(number: int) -> Render:
    return lambda given: given.at[number] if number < len(given.at) else ""


def _always(words: str) -> Render:
    return lambda _: words


def _around(before: str, after: str = "") -> Render:
    return lambda given: f"{before}{given.first()}{after}" if given.first() else ""


def _joined(separator: str) -> Render:
    return lambda given: separator.join(filter(None, given.at))


def _lines_of(given: Arguments) -> str:
    return BREAK.join(f"- {words}" for words in given.at if words)


def _block(given: Arguments) -> str:
    """Contents that hold lines of their own, such as a list."""
    return f"\n{given.first() or given.get('content')}\n"


# Languages ----------------------------------------------------------------------------------------


def _lang(given: Arguments) -> str:
    return given.get("text") or (given.at[1] if len(given.at) > 1 else given.first())


def _labelled(given: Arguments) -> str:
    """``{{lang-fr|eau}}`` and ``{{langx|fr|eau}}`` show ``French: eau``."""
    code = given.name.partition("-")[2] or given.first()
    words = given.first() if "-" in given.name else _lang(given)
    label = LANGUAGE_LABELS.get(code, "")
    if not (words and label and given.in_english) or given.get("label") == "none":
        return words
    return f"{label}: {words}"


def _chinese(given: Arguments) -> str:
    labels = {"c": "Chinese", "s": "simplified Chinese", "t": "traditional Chinese"}
    labels |= {"p": "pinyin", "w": "Wade\u2013Giles", "j": "Jyutping", "l": "lit."}
    shown = [f"{label}: {given.named[key]}" for key, label in labels.items() if given.get(key)]
    return "; ".join(shown) or given.last()


def _japanese(given: Arguments) -> str:
    english, kanji, reading, extra, *_ = [*given.at, "", "", "", ""]
    inside = ", ".join(filter(None, (kanji, reading, extra)))
    return f"{english} ({inside})" if english and inside else english or inside


# Regions and recordings of {{IPAc-en}}.
_NOT_SOUNDS = frozenset(
    ("uk", "us", "au", "nz", "ca", "ie", "lang", "local", "audio", "also", "pron", "icon", "en")
)


def _ipa(given: Arguments) -> str:
    """``{{IPA|/x/}}``, ``{{IPA|fr|x}}``, ``{{IPA-fr|x|lang}}``, ``{{IPAc-en|h|@}}``."""
    if given.name.startswith("ipac"):
        sounds = "".join(part for part in given.at if part.lower() not in _NOT_SOUNDS)
        return f"/{sounds}/" if sounds else ""
    if "-" in given.name:
        return f"[{given.first()}]" if given.first() else ""
    if len(given.at) > 1 and re.fullmatch(r"[a-z]{2,3}(?:-[A-Za-z]+)?", given.first()):
        return f"[{given.at[1]}]"
    return given.first()


# Words around words -------------------------------------------------------------------------------


def _quote(given: Arguments) -> str:
    words = given.get("text", "quote") or given.first()
    names = [given.get("author", "sign") or (given.at[1] if len(given.at) > 1 else "")]
    names.append(given.get("source", "title") or (given.at[2] if len(given.at) > 2 else ""))
    by = ", ".join(filter(None, names))
    return f"\n\n{words}\n\n" + (f"\u2014 {by}\n\n" if by and words else "") if words else ""


def _circa(sign: str) -> Render:
    def render(given: Arguments) -> str:
        return " \u2013 ".join(f"{sign} {year}" for year in given.at if year) or sign

    return render


def _reign(given: Arguments) -> str:
    years = "\u2013".join(filter(None, given.at))
    return f"r. {years}" if years else ""


def _sic(given: Arguments) -> str:
    words = "".join(given.at)
    return words if given.get("hide") else f"{words} [sic]".strip()


def _ship(given: Arguments) -> str:
    """``{{HMS|Hood|51}}``, ``{{ship|HMS|Hood|51}}``."""
    parts = given.at if given.name == "ship" else [given.name.upper(), *given.at]
    shown = " ".join(filter(None, parts[:2]))
    form = parts[3] if len(parts) > 3 else ""
    hull = parts[2] if len(parts) > 2 else ""
    return f"{shown} ({hull})" if hull and form not in ("2", "1", "3") else shown


def _harvard(given: Arguments) -> str:
    *names, year = given.at or [""]
    return f"{' & '.join(filter(None, names))} ({year})" if names else year


def _marriage(given: Arguments) -> str:
    years = "\u2013".join(filter(None, given.at[1:3]))
    return f"{given.first()} (m. {years})" if years else given.first()


def _formatted(given: Arguments) -> str:
    """Functions have their argument after a colon: ``{{formatnum:1234}}``."""
    return given.name.partition(":")[2]


def _nuclide(given: Arguments) -> str:
    return "-".join(filter(None, given.at[:2]))


# Whose first argument is what is shown.
_FIRST = """
nowrap, no wrap, nobr, nobreak, no break, nobold, noitalic, noitalics, small, smaller, big, larger,
midsize, strong, em, emphasis, mono, code, kbd, samp, var, mvar, math, bigmath, sc, smallcaps,
small caps, smallcaps2, sup, sub, abbr, tooltip, gloss, key, key press, keypress, center, italics,
underline, overline, not a typo, typo, as written, vanchor, visible anchor, chem2, ill, mset,
interlanguage link, link-interwiki, hebrew, arabic, nastaliq, polytonic, grc, unicode, ipalink,
ipa link, linktext, flag, flagu, flagcountry, nihongo2, music, longitem, text, plain text, su,
quote inline, screen reader-only, color box text, rail gauge, pslink, okina text, wikt
"""
_NAMES: dict[Render, str] = {
    _nth(0): _FIRST,
    _nth(1): "resize, sort, script, rtl-lang, native name, font color, color, colored link",
    Arguments.last: "transl, transliteration, translit, nts, format price, script-",
    _joined(" "): "sortname, bibleverse, bibleref, bibleref2, swl",
    _joined(", "): "hlist, cslist, csl",
    _joined("-"): "respell, pronunciation respelling",
    _joined(" \u00a7 "): "section link, slink",
    _lines_of: "ubl, ublist, unbulleted list, vunblist, bulleted list, ordered list",
    _block: "plainlist, plain list, flatlist, columns-list, block indent, stack",
    _lang: "lang",
    _labelled: "lang-, langx",
    _chinese: "zh, lang-zh",
    _japanese: "nihongo, korean",
    _ipa: "ipa, ipa-, ipac-",
    _quote: "quote, quotation, blockquote, block quote, cquote, bquote, poemquote, poem quote",
    _circa("c."): "circa, c., ca, ca.",
    _circa("fl."): "floruit, fl., fl",
    _reign: "reign, r.",
    _sic: "sic",
    _ship: "ship, hms, uss, ss, rms, mv, hmas, hmcs, usns, ms",
    _harvard: "harvtxt, harvnb, harvard citation text",
    _marriage: "marriage",
    _joined(""): "chem, ce",
    _nuclide: "simplenuclide, simplenuclide2, nuclide, nuclide2",
    _formatted: "formatnum:",
    convert: "convert, cvt, convert-, cvt-, railgauge, track gauge",
    value: "val",
    fraction: "frac, sfrac, fraction, tfrac",
    as_of: "as of, asof",
    date: """
        birth date, death date, start date, end date, film date, dob, bda, dda, dts, date,
        launch date, birth date and age, death date and age, start date and age,
        end date and age, release date, birth-date, death-date, start-date, end-date,
        birth year and age, birth-date and age, death-date and age, oldstyledate
    """,
    _around("\u221a"): "sqrt, radic",
    _around("|", "|"): "abs",
    _around("$", "$"): "tmath",
    _around("\u27e8", "\u27e9"): "angbr, angle bracket, angbr ipa",
    _around("\u00d710^"): "e, esp",
    _around("10^"): "10^",
    _around("^"): "pow",
    _around("US$"): "us$, usd",
    _around("\u00a3"): "gbp, \u00a3",
    _around("\u20ac"): "eur, \u20ac, euro",
    _around("\u00a5"): "jpy, \u00a5, yen",
    _around("\u20b9"): "inr, \u20b9, indian rupee",
    _around("A$"): "aud, a$",
    _around("C$"): "cad, c$",
    _around("ISBN "): "isbn",
}
_WORDS = {
    " ": "nbsp, space, spaces, sp, thinsp, thin space, hair space, zwsp",
    "\u2013": "ndash, en dash, endash",
    " \u2013 ": "snd, snds, spnd, spaced ndash, spaced en dash, dash",
    "\u2014": "mdash, em dash, emdash, --, mdashb",
    " \u2014 ": "spaced mdash, spaced em dash",
    " \u00b7 ": "\u00b7, dot, middot",
    " \u2022 ": "\u2022, bull, bullet",
    "|": "!, pipe",
    "||": "!!",
    "=": "=",
    "'": "', apos",
    "'s": "'s",
    "\"'": '" \', -"',
    "'\"": "' \"",
    BREAK: "br, break",
    "\u03c0": "pi",
    "\u00b0": "degree, deg",
    "CO2": "co2",
    "\u00d7": "times",
    "\u2212": "minus",
    "\u2032": "prime",
    "\u2020": "dagger, extinct, \u2020",
    "\u266d": "flat",
    "\u266f": "sharp",
    "AD": "ad",
    "BC": "bc",
    "BCE": "bce",
}


def _table() -> dict[str, Render]:
    shown = [*_NAMES.items(), *((_always(words), names) for words, names in _WORDS.items())]
    return {
        name.strip(): render
        for render, names in shown
        for name in names.replace("\n", " ").split(",")
    }


TEMPLATES = _table()
