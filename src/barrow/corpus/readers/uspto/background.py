"""Finds the background of a patent by its headings.

A background begins at the first heading that names one (background, field, related or prior art)
and ends at the one that names what follows: summary, objects, drawings, detailed description.
Headings between that name neither belong to it. Nothing is guessed: no such heading, no background.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from barrow.corpus.readers.uspto.patent import Block

Role = Literal["background", "aside", "end", "detail"]

_LONGEST = 150  # characters of a heading
_NUMBERING = re.compile(
    r"(?:[\[(]?[0-9]{1,5}[\])]?[.):]?\s|[\[(][0-9]{1,5}[\])]|[\[(]?[IVX]{1,5}[\])]?[.):]+|[A-H][.)]\s"
    r"|[-\u2013\u2014*\u2022#\"\u201c\s])"
)
_INVENTION = "(?:THE )?(?:PRESENT )?(?:INVENTION|DISCLOSURE|TECHNOLOGY|APPLICATION)"
_OURS = r"(?:U\.? ?S\.? )?(?:PATENT )?(?:APPLICATION|PATENT|CASE|DOCUMENT)"
_OTHERS = "(?:PRIOR|RELATED|RELEVANT|CONVENTIONAL|KNOWN|EARLIER|EXISTING)"
_SORTS = "(?:TECHNICAL |TECHNOLOGICAL |INDUSTRIAL |GENERAL |PRINCIPAL |MAIN )?"
# Of headings in upper case, their numbering and the punctuation around them taken off; the first
# role that is found counts. Words that a background's own headings may have (object-oriented,
# digital rights, disadvantages, wire drawing) count only in phrases that announce something else.
_PHRASES: tuple[tuple[Role, tuple[str, ...]], ...] = (
    (
        "aside",
        (
            "CROSS[- ]?REFERENCE",
            f"^(?:REFERENCES? TO )?(?:RELATED|PRIOR|EARLIER|PARENT|PROVISIONAL|OTHER) {_OURS}",
            f"^CO-?PENDING {_OURS}",
            "^(?:CLAIMS? (?:OF|TO|FOR) )?(?:FOREIGN )?PRIORITY(?: CLAIM| DATA| APPLICATION|$)",
            "^CONTINUATION(?:-| IN| OF| APPL| DATA)",
            "STATEMENTS? (?:REGARDING|AS TO|CONCERNING|UNDER|OF RIGHTS|O[FN] (?:GOVERN|FEDERAL))",
            "FEDERALLY|^FEDERAL (?:RESEARCH|FUND|SUPPORT)|SPONSORED RESEARCH",
            r"^(?:U\.? ?S\.? )?GOVERNMENT(?:AL|.S)? (?:INTEREST|RIGHT|LICEN|SUPPORT|FUND|CONTRACT)",
            "SEQUENCE LISTING|PROGRAM LISTING|MICROFICHE|^(?:REFERENCE TO )?(?:AN )?APPENDI",
            "^INCORPORATION BY|^COPYRIGHT|^NOTICE|JOINT RESEARCH AGREEMENT|^ACKNOWLEDGE?MENT",
        ),
    ),
    (
        "end",
        (
            "^(?:THE )?(?:ACCOMPANYING )?(?:DRAWINGS?|FIGURES?)$|SEVERAL VIEWS",
            r"(?:DESCRIPTIONS?|EXPLANATION|LIST) (?:OF|TO) (?:\w{1,15} ){0,6}(?:DRAWING|FIG)",
            r"\bADVANTAGES?\b(?! OF (?:THE )?(?:PRIOR|RELATED|CONVENTIONAL))",
        ),
    ),
    (
        "background",
        (
            r"\bBACK[- ]?GROUND",
            rf"{_OTHERS} (?:ARTS?\b|TECHNOLOG|TECHNIQUE|DEVELOPMENT|DEVICE|METHOD|SYSTEM|WORK)",
            r"DESCRIPTION OF (?:THE )?ART\b|STATE OF (?:THE )?(?:\w{1,12} )?ART\b",
            rf"^(?:THE )?{_SORTS}(?:FIELDS?|SECTOR|AREA)(?: ?[,/&]| (?:OF|TO|AND|FOR)\b|$)",
        ),
    ),
    (
        "detail",
        (
            r"\bDETAILED|^DETAILS|EMBODIMENT",
            "^(?:THE )?(?:BEST MODE|PREFERRED)|^MODES? (?:FOR|OF)",
        ),
    ),
    (
        "end",
        (
            "SUMMAR|^SYNOPSIS|^ABSTRACT|^OVERVIEW$|^DEFINITIONS?$|APPLICABILITY",
            rf"^(?:THE )?{_SORTS}(?:OBJECT|OBJECTIVE|AIM|PURPOSE|GOAL)S?(?: AND\b| OF\b| ?,|$)",
            f"^{_INVENTION}$|^(?:BRIEF |GENERAL )?DISCLOSURE|^DESCRIPTION$",
            f"(?:DESCRIPTION|STATEMENT|PRESENTATION|EXPLANATION|ESSENCE|OVERVIEW) OF {_INVENTION}",
            "^(?:BRIEF|GENERAL|FULL|SPECIFIC|COMPLETE) (?:DESCRIPTION|STATEMENT)",
            "^DESCRIPTION OF (?:THE )?(?:SPECIFIC|ILLUSTRATIVE|EXEMPLARY|VARIOUS)",
            "^(?:TECHNICAL )?PROBLEMS? TO BE|^TECHNICAL (?:PROBLEM|TASK|SOLUTION)|^SOLUTIONS? TO",
            "^MEANS (?:FOR|TO)|^(?:WORKING |COMPARATIVE )?EXAMPLES?(?: [0-9IVXA-C]{1,4})?$",
            "^(?:WHAT IS )?CLAIM(?:S|ED)?(?: IS)?$",
        ),
    ),
)
_ROLES = tuple((role, re.compile("|".join(phrases))) for role, phrases in _PHRASES)
# A paragraph that is a heading without the markup, in capitals or not.
_AS_PARAGRAPH = re.compile(
    r"(?:BRIEF |GENERAL |DETAILED |TECHNICAL )?(?:BACKGROUND|FIELD|SUMMARY|OBJECTS?|DISCLOSURE"
    r"|(?:DESCRIPTION|DISCUSSION) OF (?:THE )?(?:RELATED|PRIOR|RELEVANT|BACKGROUND|CONVENTIONAL)"
    r" ARTS?|(?:RELATED|PRIOR|RELEVANT|BACKGROUND) ART|DESCRIPTION(?: OF (?:THE )?(?:SEVERAL VIEWS"
    r" OF )?(?:THE )?(?:ACCOMPANYING )?(?:DRAWINGS?|FIGURES|INVENTION|(?:PREFERRED |EXEMPLARY )?"
    r"EMBODIMENTS?))?|CROSS[- ]REFERENCES? TO RELATED (?:PATENT )?APPLICATIONS?)"
    rf"(?: OF (?:{_INVENTION}|THE ART))?"
)
_NAMES_ONLY_THE_SECTION = re.compile(rf"(?:TECHNICAL )?BACKGROUND(?: OF {_INVENTION})?")


def role_of(block: Block) -> Role | None:
    """The role of a heading; None for a subheading and for paragraphs."""
    if len(block.text) > _LONGEST:
        return None
    name = _bare(block.text)
    if not block.is_heading and not (block.text.isupper() or _AS_PARAGRAPH.fullmatch(name)):
        return None
    return next((role for role, pattern in _ROLES if pattern.search(name)), None)


def background(blocks: Iterable[Block]) -> list[str] | None:
    """Headings and paragraphs of the background; None if no heading marks one, or nothing follows.

    Blocks are taken only up to where the background ends.
    """
    kept: list[Block] = []
    opened: Block | None = None
    is_aside = False
    for block in blocks:
        if block.part in ("", "abstract", "claims"):
            if opened:
                break
            continue
        role = role_of(block)
        if opened is None:
            if role != "background" and block.part != "background":
                if role == "detail":
                    break
                continue
            opened = block
        elif role in ("end", "detail") or _is_past(block, opened):
            break
        if role is not None or block.is_heading:
            is_aside = role == "aside"
        if not is_aside and block.part != "aside":
            kept.append(block)
    return _without_bare_headings(kept)


def _is_past(block: Block, opened: Block) -> bool:
    return block.part in ("drawings", "detail") and block.part != opened.part


def _bare(text: str) -> str:
    """A heading in upper case, its numbering and the punctuation around it taken off."""
    text = text.strip()
    while found := _NUMBERING.match(text):
        text = text[found.end() :]
    return " ".join(text.upper().rstrip(' .:;,-\u2013\u2014*"\u201d').split())


def _without_bare_headings(kept: list[Block]) -> list[str] | None:
    """Without the heading that every background has, and without empty headings at the end."""
    while kept and (kept[-1].is_heading or role_of(kept[-1])):
        kept.pop()
    if kept and role_of(kept[0]) and _NAMES_ONLY_THE_SECTION.fullmatch(_bare(kept[0].text)):
        del kept[0]
    return [block.text for block in kept] or None
