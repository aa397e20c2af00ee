from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.corpus.report.charts import bar, histogram, river

AMOUNTS = st.integers(0, 10**15)


def rects(made: str, kind: str | None = None) -> list[dict[str, str]]:
    found = [rect.attrib for rect in ElementTree.fromstring(made).iter("rect")]
    return [r for r in found if kind is None or r["class"] == kind]


def test_a_bar_is_as_long_as_its_share() -> None:
    made = bar([("train", 50), ("test", 25), ("none", 0)], 100)
    train, test = rects(made, "train")[0], rects(made, "test")[0]
    assert float(train["width"]) == 50
    assert float(test["width"]) == 25
    assert float(test["x"]) > 50
    assert rects(made, "none") == []
    assert ElementTree.fromstring(made).attrib["aria-hidden"] == "true"


@given(st.lists(AMOUNTS, max_size=5))
def test_bars_stay_inside_and_show_whatever_is_there(values: list[int]) -> None:
    made = bar([(f"k{n}", value) for n, value in enumerate(values)], sum(values))
    for rect in rects(made):
        assert float(rect["width"]) > 0
        assert float(rect["x"]) >= 0
        assert float(rect["x"]) + float(rect["width"]) <= 100.011
    assert len(rects(made)) - 1 == sum(1 for value in values if value)


def test_a_histogram_has_a_column_for_each_height() -> None:
    made = histogram([4, 0, 1], ["a", "b", "c"], "All of <it>", class_="tall")
    read = ElementTree.fromstring(made)
    assert read.attrib["role"] == "img"
    assert read.attrib["aria-label"] == "All of <it>"
    assert read.attrib["class"] == "histogram tall"
    assert [float(r["height"]) for r in rects(made, "column")] == [60, 15]
    assert [group.findtext("title") for group in read.iter("g")] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="zip"):
        histogram([1], [], "x")


def test_an_empty_histogram() -> None:
    assert rects(histogram([], [], "nothing")) == []
    assert rects(histogram([0], ["a"], "nothing"), "column") == []


def test_a_river_has_a_branch_where_something_is_lost() -> None:
    quiet = ElementTree.fromstring(river("lost-read", 50, 50, 100))
    assert list(quiet.iter("path")) == []
    assert rects(river("lost-read", 50, 50, 100), "kept")[0]["width"] == "50"
    (branch,) = ElementTree.fromstring(river("lost-read", 100, 75, 100)).iter("path")
    assert branch.attrib["class"] == "lost-read"
    assert branch.attrib["d"].startswith("M75.3 0L100 0")


@given(AMOUNTS, AMOUNTS, AMOUNTS)
def test_rivers_of_any_size(a: int, b: int, c: int) -> None:
    stayed, came, whole = sorted((a, b, c))
    made = ElementTree.fromstring(river("x", came, stayed, whole))
    assert len(list(made.iter("path"))) == (came > stayed)
