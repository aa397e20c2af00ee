"""Text of the Automated Patent System (1976 to 2001), in which signs are written ``.degree.``.

The names are those of the Greenbook's documentation and what its weeks contain beside it: Greek
letters, mathematics, marks, bonds. A subscript follows ``.sub.``, a superscript ``.sup.``, up to a
blank or punctuation; a blank that only ends a subscript inside a formula, ``H.sub.2 O``, is taken
out. A placeholder of an image, ``##EQU1##``, is dropped.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from barrow.corpus.readers.uspto.patent import Block, Part, Patent, iso_date, plain_number, sort_of
from barrow.corpus.readers.uspto.superscript import superscript

_GREEK = """
    alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν
    xi ξ omicron ο pi π rho ρ sigma σ tau τ upsilon υ phi φ chi χ psi ψ omega ω
"""
_OTHERS = """
    degree ° times × div ÷ +- ± -+ ∓ multidot · ltoreq ≤ lmtoreq ≤ gtoreq ≥ noteq ≠ ident ≡ about ~
    apprxeq ≅ approxeq ≈ congruent ≅ notident ≢ apprch ≐ notlessthan ≮ notgreaterthan ≯ gtorsim ≳
    ltorsim ≲ lmorsim ≲ ltoreg ≦ gtoreg ≧ perspectiveto ≃ varies ∝ infin ∞ differential ∂
    gradient ∇ increment ∆ intg ∫ sqroot √ cuberoot ∛ fourthroot ∜ angle ∠ parallel ∥ perp ⊥
    vertline | thrfore ∴ because ∵ andgate ∩ orgate ∪ sym ⊕ crclbar ⊖ circleincircle ⊙ hoarfrost ⊔
    fwdarw → rarw ← uparw ↑ dwnarw ↓ lrarw ↔ rlarw ⇄ revreaction ⇌ reveaction ⇌ dbd = tbd ≡
    quadbond ≣ TM ™ SM ℠ RTM ® COPYRG © sctn § permill ‰ ANG Å ang å cent ¢ female ♀ male ♂
    function ƒ prime ′ dblprime ″ dblquote " [ [ ] ] cndot • quadrature □ smallcircle ○
    largecircle ◯ circle ○ box-solid ■ square-solid ■ tangle-solidup ▲ music-sharp ♯ music-flat ♭
    music-natural ♮ music-natrual ♮
"""


def _pairs(table: str) -> dict[str, str]:
    words = table.split()
    return dict(zip(words[::2], words[1::2], strict=True))


_SIGNS = _pairs(_GREEK) | _pairs(_GREEK.upper()) | _pairs(_OTHERS)
_NAMES = "|".join(re.escape(name) for name in sorted(_SIGNS, key=lambda name: (-len(name), name)))
# The zero of version 2.0.1 or of .sup.0.5 is not an ø.
_SIGN = re.compile(rf"(?<![0-9A-Za-z])\.(0)\.|\.({_NAMES})\.")
_IMAGE = re.compile(r"##[A-Z]{2,5}[0-9]{1,6}##")
# H.sub.2 SO.sub.4 is one formula, and so is what ends in one of the usual groups.
_WITHIN_FORMULA = re.compile(
    r"(\.sub\.[0-9]{1,3}) (?=\(?(?:[A-Z][a-z]?){1,4}\)?\.sub\.[0-9]"
    r"|(?:O|OH|N|NH|Cl|Br|CN|COOH|CHO)\b)"
)
_SCRIPT = re.compile(
    r"\.(su[bp]|s[bp]s[bp])\.(\([^\s().]{1,20}\)|(?:[0-9]{1,9}\.[0-9]{1,9})?[^\s.,;:()\[\]]*+)"
)
_CODED = re.compile(r"\.[^\s.]")  # what hardly occurs in other text
_BLANKS = re.compile(r" {2,}+")


def aps_to_text(value: str) -> str:
    """The value of a field as plain text."""
    if "##" in value:
        value = _IMAGE.sub(" ", value)
    if _CODED.search(value):
        value = _WITHIN_FORMULA.sub(r"\1", value)
        value = _SIGN.sub(lambda sign: "ø" if sign[1] else _SIGNS[sign[2]], value)
        if ".s" in value:
            value = _SCRIPT.sub(_script, value)
    return (_BLANKS.sub(" ", value) if "  " in value else value).strip()


def _script(found: re.Match[str]) -> str:
    # The second half decides: .spsb. is a subscript to a superscript.
    if found[1] not in ("sup", "spsp", "sbsp"):
        return found[2]
    at = found.start()
    return superscript(found.string[max(0, at - 1) : at], found[2])


_TAG = re.compile(r"(?:PD|[A-Z][A-Z0-9]{2,3})(?=[ \r\n]|\Z)")
_SECTIONS: dict[str, Part] = {
    "ABST": "abstract",
    "GOVT": "aside",
    "PARN": "aside",
    "BSUM": "body",
    "DRWD": "drawings",
    "DETD": "detail",
    "CLMS": "claims",
    "DCLM": "claims",
}
_BRS_SECTIONS: dict[str, Part] = {tag[:2]: part for tag, part in _SECTIONS.items() if tag != "DCLM"}
_BRS_FIELD = re.compile(r"(AB|GO|PA|BS|DR|DE|CL)(P[A-Z0-9]|TX)")
_PARAGRAPH = re.compile(r"PA[A-Z0-9]|STM")
_SORTS = {"1": "utility", "2": "reissue", "4": "design", "6": "plant"}


def aps_blocks(text: str, patent: Patent) -> Iterator[Block]:
    """Headings and paragraphs of one patent, whose front page is written into `patent`."""
    part: Part = ""
    for tag, value in _fields(text):
        if len(tag) == 4:
            if brs := _BRS_FIELD.fullmatch(tag):
                yield from _block(tag[2:], _BRS_SECTIONS[brs[1]], value)
            else:
                part = _SECTIONS.get(tag, "")
        elif part and _PARAGRAPH.fullmatch(tag):
            yield from _block(tag, part, value)
        elif tag == "WKU" and not patent.number:
            # Eight characters; the ninth, which BRS leaves out, is a check digit.
            patent.number = plain_number(value.strip()[:8])
            patent.country = "US"
            patent.sort = sort_of(patent.number) or patent.sort
        elif tag == "TTL" and not patent.title:
            patent.title = aps_to_text(value)
        elif tag in ("ISD", "PD") and not patent.date:  # PD is that of BRS
            patent.date = iso_date(value)
        elif tag == "APT" and not patent.sort:
            patent.sort = _SORTS.get(value.strip(), "")


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Tags and their values, lines joined; read lazily."""
    tag, lines = "", [""]
    for line in io.StringIO(text, newline=None):
        found = None if line.startswith(" ") else _TAG.match(line)
        if found is None:
            lines.append(line.strip())
            continue
        if tag:
            yield tag, " ".join(lines)
        tag, lines = found[0], [line[found.end() :].strip()]
    if tag:
        yield tag, " ".join(lines)


def _block(tag: str, part: Part, value: str) -> Iterator[Block]:
    if value := aps_to_text(value):
        yield Block(tag in ("PAC", "PC"), part, value)
