"""PILE-1: numbers and units, as the documentation of the templates shows them."""

from __future__ import annotations

import pytest
from tests.linear import check_linear

from barrow.corpus.text.wikitext.template_values import convert, fraction, unit_name, value
from barrow.corpus.text.wikitext.templates import Arguments


def arguments(source: str) -> Arguments:
    """What stands between ``{{`` and ``}}``, the slow way."""
    name, *parts = source.split("|")
    at = [part for part in parts if "=" not in part]
    named = dict(part.split("=", 1) for part in parts if "=" in part)
    return Arguments(name, at, named, True)


CONVERTED = {
    "5|km|mi": "5 km",
    "5|km": "5 km",
    "5": "5",
    "": "",
    "km|5": "",
    "1234.5|m": "1,234.5 m",
    "1234567|m": "1,234,567 m",
    "1,234|m": "1,234 m",
    "999|m": "999 m",
    "-1234|m": "\u22121,234 m",
    "\u22125|m": "\u22125 m",
    ".5|mi": "0.5 mi",
    "-.5|C": "\u22120.5 \u00b0C",
    "0.25|m": "0.25 m",
    "007|m": "007 m",
    "1e6|m": "1e6 m",
    "3/4|in": "3/4 in",
    "1" * 5000 + "|m": "1" * 5000 + " m",
    # Ranges.
    "5|to|10|km": "5 to 10 km",
    "5|-|10|km": "5\u201310 km",
    "5|&ndash;|10|km": "5\u201310 km",
    "1000|-|2000|m": "1,000\u20132,000 m",
    "3|x|4|x|5|m": "3 \u00d7 4 \u00d7 5 m",
    "3|by|4|m": "3 by 4 m",
    "3|+/-|1|m": "3 \u00b1 1 m",
    "1|,|2|, and|3|km": "1, 2, and 3 km",
    "5|to": "5 to",
    # Two units of one measure; a number after the unit is else the precision of the conversion.
    "6|ft|4|in|m": "6 ft 4 in",
    "1|mi|1500|yd": "1 mi 1,500 yd",
    "10|st|3|lb|kg": "10 st 3 lb",
    "100|ft|0": "100 ft",
    "100|km|0": "100 km",
    "100|km|mi|0": "100 km",
    "6|ft|4|in|2": "6 ft 4 in",
    # Units that are words.
    "1|acre": "1 acre",
    "-1|mile": "\u22121 mile",
    "2|acre": "2 acres",
    "1|foot": "1 foot",
    "0|LT": "0 long tons",
    "5|acre|adj=on": "5-acre",
    "2|e6acre|adj=on": "2-million acre",
    "2|e6acre": "2 million acres",
    "5|km|adj=on": "5-km",
    "5|km|adj=off": "5 km",
    "100|PD/sqkm": "100/km^2",
    "100|PD/sqkm|adj=on": "100/km^2",
}


@pytest.mark.parametrize("source", CONVERTED)
def test_convert(source: str) -> None:
    given = arguments(f"convert|{source}") if source else arguments("convert")
    assert convert(given) == CONVERTED[source]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("km", "km"),
        ("C", "\u00b0C"),
        ("sqmi", "sq mi"),
        ("km2", "km^2"),
        ("cuft", "cu ft"),
        ("e3m3", "thousand m^3"),
        ("e9USgal", "billion US gal"),
        ("e12J", "trillion J"),
        ("e4m", "e4m"),
        ("e3e6m", "thousand e6m"),
        ("e", "e"),
        ("", "units"),
        ("Å水", "Å水"),
    ],
)
def test_names_of_units(code: str, name: str) -> None:
    assert unit_name(code) == unit_name(code, one=True) == name


def test_singular_and_plural() -> None:
    for one, more in (("acre", "acres"), ("foot", "feet"), ("inch", "inches"), ("mile", "miles")):
        assert (unit_name(one, one=True), unit_name(one)) == (one, more)
    assert unit_name("nmi", one=True) == "nautical mile"
    assert unit_name("e6pound", one=True) == "million pound"


VALUES = {
    "": "",
    "5": "5",
    "1.2|0.3": "1.2\u00b10.3",
    "1.2|0.3|e=6|u=m": "(1.2\u00b10.3)\u00d710^6 m",
    "1.2|e=-3": "1.2\u00d710^-3",
    "1234|56|78": "1234+56\u221278",
    "123.23|+2.34|-1.23|u=m": "123.23+2.34\u22121.23 m",
    "5|2|1|e=3": "(5+2\u22121)\u00d710^3",
    "1234|(56)": "1234(56)",
    "1234|(56)|e=3": "1234(56)\u00d710^3",
    "1.2|about": "1.2",
    "7|ul=kg": "7 kg",
    "9.8|ul=m|up=s": "9.8 m/s",
    "9.8|u=gal|upl=min": "9.8 gal/min",
    "12|s=%": "12%",
    "7600|p=~|u=C": "~7600 C",
}


@pytest.mark.parametrize("source", VALUES)
def test_value(source: str) -> None:
    assert value(arguments(f"val|{source}")) == VALUES[source]
    if not source:
        assert value(arguments("val")) == ""


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("frac|1|2|3", "1 2/3"),
        ("frac|2|3", "2/3"),
        ("frac|3", "1/3"),
        ("frac", ""),
        ("frac||5", "1/5"),
    ],
)
def test_fraction(source: str, shown: str) -> None:
    assert fraction(arguments(source)) == shown


@pytest.mark.parametrize("part", ["1", "to", "-", "1/", "e3", "", "+"])
def test_time_is_linear(part: str) -> None:
    """In linear time."""

    def act(n: int) -> None:
        many = Arguments("convert", ["1", *[part] * n], {}, True)
        long = Arguments("convert", ["1" + part * n, "e3" + part * n], {"e": part}, True)
        for given in (many, long):
            for function in (convert, value, fraction):
                assert isinstance(function(given), str)

    check_linear(act, 5_000)
