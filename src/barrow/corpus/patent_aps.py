"""Patents as tagged lines: the Greenbook (APS, 1976 to 2001), and the BRS text made of it.

A line has a tag in its first four columns and text from the sixth, or is blank there and goes on
with the field above. In the Greenbook a tag of four letters, such as BSUM, begins a section, and
PAR, PA1 and so on are paragraphs of it, PAC headings. BRS writes both in one: BSPR is PAR of BSUM.
Tables (TBL) and equations (EQU) are dropped.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from barrow.corpus.aps_text import aps_to_text
from barrow.corpus.patent import Block, Part, Patent, iso_date, plain_number, sort_of

_TAG = re.compile(r"[A-Z][A-Z0-9]{2,3}(?=[ \r\n]|\Z)")
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
        elif tag == "ISD" and not patent.date:
            patent.date = iso_date(value)
        elif tag == "APT" and not patent.sort:
            patent.sort = _SORTS.get(value.strip(), "")


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Tags and what follows them, lines joined; read only as far as somebody asks for."""
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
