"""Codes of the Automated Patent System (PILE-6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linear import check_linear

from barrow.corpus.readers.uspto.aps import aps_to_text


@pytest.mark.parametrize(
    ("coded", "text"),
    [
        ("at 25.degree. C.", "at 25° C."),
        ("5 .mu.m thick", "5 μm thick"),
        (".alpha.-, .beta.- and .OMEGA.", "α-, β- and Ω"),
        ("3.0.times.10.sup.6 cells", "3.0×10^6 cells"),
        ("0.ltoreq.x.ltoreq.1", "0≤x≤1"),
        ("x.gtoreq.2 .+-.5% .about.7", "x≥2 ±5% ~7"),
        ("TEFLON.RTM. and Kevlar.TM.", "TEFLON® and Kevlar™"),
        ("DuPont.sup..RTM.", "DuPont®"),
        ("V.sub.o, exposure E.sub.o.", "Vo, exposure Eo."),
        ("H.sub.2 O and CO.sub.2 in air", "H2O and CO2 in air"),
        ("H.sub.2 SO.sub.4, Al.sub.2 O.sub.3", "H2SO4, Al2O3"),
        ("C.sub.2 H.sub.5 OH", "C2H5OH"),
        ("SiO.sub.2 The layer", "SiO2 The layer"),
        ("10.sup.-3 and cm.sup.2;", "10^-3 and cm^2;"),
        ("x.sup.0.5, y.sup.(n-1)", "x^0.5, y^(n-1)"),
        ("Ca.sup.2+ and the 46.sup.th", "Ca2+ and the 46th"),
        ("a.sub.i.sup.2", "ai^2"),
        ("e.spsp.x", "e^x"),
        ("a.sbsb.i", "ai"),
        ("version 2.0.1 but .0.5 mm", "version 2.0.1 but ø5 mm"),
        (".[.old.]. new", "[old] new"),
        ("the formula ##STR1## where ##EQU12##", "the formula where"),
        ("e.g. U.S. Pat. i.e. this.", "e.g. U.S. Pat. i.e. this."),
        ("an unknown .foo. stays", "an unknown .foo. stays"),
        ("  two   blanks ", "two blanks"),
        ("", ""),
    ],
)
def test_codes(coded: str, text: str) -> None:
    assert aps_to_text(coded) == text


@given(st.text(alphabet=".subpthea0-9(+# \n", max_size=200))
def test_whatever_the_text(value: str) -> None:
    aps_to_text(value).encode()


@pytest.mark.parametrize("unit", [".sup.", ".sub.2 ", "##", ".sub.(", "H.sub.2 A", ".alpha"])
def test_time_is_linear(unit: str) -> None:
    check_linear(lambda n: aps_to_text(unit * n), 10_000)
