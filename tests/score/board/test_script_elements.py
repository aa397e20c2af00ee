from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.pages.chromium import Page

from barrow.pages.frame import static

ELEMENTS = static("barrow.score.board", "elements.js")

CASES = {
    "amount": {"0": "0", "999": "999", "1000": "1k", "124439808": "124M", "1.5e9": "1.5B"},
    "size": {"417": "417 B", "12345678": "12.3 MB", "999999": "1 MB", "null": "–"},
    "bits": {"0.9": "0.900", "8": "8.000", "null": "–", "undefined": "–", "NaN": "–"},
    "finely": {"1.23456": "1.2346"},
    "whole": {"1234567": "1,234,567"},
    "figure": {"9.5": "9.50", "462.3": "462", "73327.6": "73,328", "4.29e9": "4.3e+9"},
    "seconds": {"1.25": "1.3 s", "59.9": "59.9 s", "61": "1 min", "7260": "2 h 1 min"},
    "percent": {"0": "0.0%", "0.0123": "1.2%", "0.0001": "<0.1%", "1": "100.0%"},
    "span": {"{low: 0.9, high: 1}": "0.900–1.000", "{low: null, high: 1}": "–", "undefined": "–"},
    "place": {"[1, 1]": "1", "[1, 3]": "1–3", "undefined": "–"},
}


@pytest.fixture
def call(show: Callable[..., Page]) -> Callable[[str], object]:
    tab = show("about:blank")
    return lambda code: tab.evaluate(f"(() => {{ {ELEMENTS} return {code}; }})()")


def test_numbers_as_people_read_them(call: Callable[[str], object]) -> None:
    for function, cases in CASES.items():
        values = f"[{', '.join(f'{function}({value})' for value in cases)}]"
        assert call(values) == list(cases.values()), function


def test_text_never_becomes_markup(call: Callable[[str], object]) -> None:
    hostile = "<img src=x>/a_b&amp;"
    made = call(f"name({json.dumps(hostile)}).outerHTML")
    assert made == "<bdi>&lt;img src=x&gt;/<wbr>a_<wbr>b&amp;amp;</bdi>"
    given = f"{{title: {json.dumps(hostile)}, hidden: true, id: null}}"
    made = call(f"[...html('p', {given}).attributes].map((one) => [one.name, one.value])")
    assert made == [["title", hostile], ["hidden", ""]]


def test_kinds_differ_in_shape_not_only_in_colour(call: Callable[[str], object]) -> None:
    kinds = ["barrow", "transformers", "server", "baseline", "compressor", "custom"]
    shapes = call(f"{json.dumps(kinds)}.map((kind) => mark(kind, 0, 0, 5).getAttribute('class'))")
    assert isinstance(shapes, list)
    assert len(set(shapes)) == 6
    assert call("mark('toString', 0, 0, 5).getAttribute('d').includes('undefined')") is False
