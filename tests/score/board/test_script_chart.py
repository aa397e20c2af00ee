from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pages.chromium import Page
from tests.score.board.made_results import result, several

DOTS = (
    "Object.fromEntries([...document.querySelectorAll('#chart .dot')].map((n) =>"
    "[n.querySelector('.label').textContent, [Number(n.querySelector('.reach').getAttribute('cx')),"
    "Number(n.querySelector('.reach').getAttribute('cy'))]]))"
)


@pytest.mark.parametrize(
    ("axis", "name"),
    [("params", "Parameters"), ("train_tokens", "Training tokens"), ("size", "Size")],
)
def test_both_axes_are_logarithmic(
    axis: str, name: str, board_file: Path, show: Callable[..., Page]
) -> None:
    tab = show(board_file)
    tab.click(f"[name=x][value={axis}]")
    dots = tab.evaluate(DOTS)
    assert set(dots) == {"small", "medium", "large", "pythia-70m"}
    made = several()
    # Parameters grow by four from one to the next; the chart moves by the same length.
    steps = [dots["medium"][0] - dots["small"][0], dots["large"][0] - dots["medium"][0]]
    assert steps[0] == pytest.approx(steps[1], abs=1e-6)
    assert steps[0] > 50
    y = {key: dots[key][1] for key in ("small", "medium", "large")}
    bits = {key: math.log(made[key].overall.bpb or 0) for key in y}
    scale = (y["small"] - y["large"]) / (bits["small"] - bits["large"])
    assert y["medium"] - y["large"] == pytest.approx(scale * (bits["medium"] - bits["large"]))
    assert scale < 0  # more bits are higher up
    assert tab.evaluate("document.querySelector('#chart .axis-name').textContent").startswith(name)


def test_it_says_in_words_what_it_shows(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    label = tab.evaluate("document.querySelector('#chart svg').getAttribute('aria-label')")
    assert label == (
        "Scatter chart of 4 results: bits per byte on all of the text against parameters, both "
        "logarithmic. The table above holds the same numbers."
    )
    labels = tab.evaluate(
        "[...document.querySelectorAll('#chart .dot')].map((n) => n.getAttribute('aria-label'))"
    )
    assert "large: 1.040 bits per byte, 95% interval 1.019–1.061, parameters 160M" in labels
    assert tab.evaluate("document.querySelectorAll('#chart .whisker').length") == 4


def test_points_open_cards_with_the_keyboard(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    for key in ("Enter", " "):
        tab.focus("#chart .dot")
        chosen = tab.evaluate("document.activeElement.querySelector('.label').textContent")
        tab.press(key)
        assert tab.texts("#card h2") == [chosen]
        tab.press("Escape")
        tab.wait("!document.getElementById('card').open")
        assert tab.evaluate("document.activeElement.classList.contains('dot')")
    tab.click("#chart .dot")
    assert tab.texts("#card h2") == [chosen]


def test_what_has_no_such_number(board_file: Path, show: Callable[..., Page]) -> None:
    """Compressors are lines to beat, unless they are far off; then they are named."""
    tab = show(board_file)
    lines = tab.evaluate(
        "[...document.querySelectorAll('#chart .line-of text')].map((n) => n.textContent)"
    )
    assert lines == ["xz 2.310"]  # zstd:19 is just beyond 1.8 times the worst point
    (note,) = tab.texts("#chart-note")
    assert note == (
        "Dashed: results that state no such number. Not drawn: zstd:19 (2.400), uniform (8.000)."
    )


def test_nothing_to_draw_and_one_point(
    page_of: Callable[..., Path], show: Callable[..., Page]
) -> None:
    made = {"xz": several()["xz"], "one": result("one", 1.0, params=10, spread=None)}
    tab = show(page_of(made))
    assert set(tab.evaluate(DOTS)) == {"one"}
    tab.click("[data-key=kind-barrow]")
    assert tab.evaluate("document.getElementById('chart').hidden")
    assert tab.texts("#chart-note")[0].startswith("No result shown here states this number")


def test_it_follows_the_width(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    wide = tab.evaluate("Number(document.querySelector('#chart svg').getAttribute('width'))")
    tab.send(
        "Emulation.setDeviceMetricsOverride",
        width=360,
        height=800,
        deviceScaleFactor=1,
        mobile=True,
    )
    tab.wait(f"Number(document.querySelector('#chart svg').getAttribute('width')) < {wide} / 2")
