"""The Greenbook and BRS (PILE-6)."""

from __future__ import annotations

from barrow.corpus.readers.uspto.aps import aps_blocks
from barrow.corpus.readers.uspto.patent import Block, Patent

GREENBOOK = """\
PATN
WKU  039373754
SRC  5
APT  1
TTL  Bumper support for a
      boat loader
ISD  19760210
INVT
NAM  Barrow; Ada
UREF
PNO  2542907
ISD  19510200
TTL  Another title
ABST
PAL  In short.
PARN
PAR  This is a continuation.
BSUM
PAC  BACKGROUND OF THE INVENTION
PAR  Water, H.sub.2 O, boils
      at 100.degree. C.
TBL                TABLE 1
      ____
     a b c

PA1  (a) an entry; ##EQU1##
EQU  ##EQU1##
PAR  ##STR1##
DRWD
PAR  FIG. 1 is a view.
DETD
PAR  In detail.
CLMS
STM  What I claim is:
NUM  1.
PAR  1. A bumper.
"""
BRS = """\
WKU  05123456
TTL Bumper support,
      and loader
PD   19920623
ABPR In short.
BSPC BACKGROUND
BSPR Bumpers are
      known.
DRPR FIG. 1.
DETX In detail.
CLPR 1. A bumper.
"""


def test_greenbook() -> None:
    patent = Patent()
    for text in (GREENBOOK, GREENBOOK.replace("\n", "\r\n")):
        assert list(aps_blocks(text, patent)) == [
            Block(False, "abstract", "In short."),
            Block(False, "aside", "This is a continuation."),
            Block(True, "body", "BACKGROUND OF THE INVENTION"),
            Block(False, "body", "Water, H2O, boils at 100° C."),
            Block(False, "body", "(a) an entry;"),
            Block(False, "drawings", "FIG. 1 is a view."),
            Block(False, "detail", "In detail."),
            Block(False, "claims", "What I claim is:"),
            Block(False, "claims", "1. A bumper."),
        ]
    assert patent == Patent(
        number="3937375",
        date="1976-02-10",
        country="US",
        title="Bumper support for a boat loader",
        sort="utility",
    )


def test_sorts() -> None:
    for number, apt, sort in (
        *(("D02425833", "4", "design"), ("PP0038361", "6", "plant")),
        *(("RE0286715", "2", "reissue"), ("039373754", "4", "design")),
    ):
        patent = Patent()
        assert list(aps_blocks(f"PATN\nWKU  {number}\nAPT  {apt}\n", patent)) == []
        assert patent.sort == sort


def test_brs() -> None:
    patent = Patent()
    assert list(aps_blocks(BRS, patent)) == [
        Block(False, "abstract", "In short."),
        Block(True, "body", "BACKGROUND"),
        Block(False, "body", "Bumpers are known."),
        Block(False, "drawings", "FIG. 1."),
        Block(False, "detail", "In detail."),
        Block(False, "claims", "1. A bumper."),
    ]
    assert (patent.number, patent.title) == ("5123456", "Bumper support, and loader")
    assert patent.date == "1992-06-23"
    for written in ("ISD  19920623", "PD   June 23, 1992", "ISD  1992-06-23", "PD Jun. 23,1992"):
        other = Patent()
        list(aps_blocks(BRS.replace("PD   19920623", written), other))
        assert other.date == "1992-06-23", written


def test_only_as_much_is_read_as_asked_for() -> None:
    blocks = aps_blocks(GREENBOOK, patent := Patent())
    assert patent.number == ""
    assert next(blocks).text == "In short."
    assert patent.number == "3937375"


def test_broken_lines() -> None:
    patent = Patent()
    assert list(aps_blocks("", patent)) == []
    assert list(aps_blocks("\n\n      stray\nPATN\nBSUM\nPAR\nPAR", patent)) == []
    blocks = list(aps_blocks("BSUM\nPAR  One\nlower case line\nPAR: no tag\n", patent))
    assert blocks == [Block(False, "body", "One lower case line PAR: no tag")]
