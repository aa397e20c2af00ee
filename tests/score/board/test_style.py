from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.corpus.contrast import contrast
from tests.score.board.chromium import Page

from barrow.score.board.style import DARK, LIGHT, STYLE

THEMES = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])


@THEMES
def test_words_can_be_read_on_every_ground(palette: dict[str, str]) -> None:
    """WCAG AA: 4.5 to 1 for words."""
    shades = [palette[f"shade-{k}"] for k in range(6)]
    assert len(set(shades)) == 6
    for ground in [palette["ground"], palette["raised"], palette["track"], *shades]:
        assert contrast(palette["ink"], ground) >= 4.5
    for ground in ("ground", "raised"):
        for words in ("soft", "link"):
            assert contrast(palette[words], palette[ground]) >= 4.5


@THEMES
def test_marks_and_edges_stand_out(palette: dict[str, str]) -> None:
    """WCAG AA: 3 to 1 for what is no word but means something."""
    marks = [name for name in palette if name.startswith("mark-")]
    assert len(marks) == 6
    for name in [*marks, "edge", "link", "blue"]:
        assert contrast(palette[name], palette["ground"]) >= 3


def test_both_themes_have_every_colour_used() -> None:
    assert set(LIGHT) == set(DARK) >= set(re.findall(r"var\(--([\w-]+)\)", STYLE))
    assert STYLE.count("{") == STYLE.count("}")
    assert "gradient" not in STYLE
    assert "<" not in STYLE


COLOURS = """(() => {
  const own = (node) => {
    for (let n = node; n; n = n.parentElement) {
      const colour = getComputedStyle(n).backgroundColor;
      if (!colour.startsWith('rgba(0, 0, 0, 0')) return colour;
    }
  };
  const found = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !node.checkVisibility()) continue;
    if (node.closest('option, script, svg, .unseen')) continue;
    found.add(getComputedStyle(node).color + ' on ' + own(node));
  }
  return [...found];
})()"""


def in_hex(colour: str) -> str:
    found = re.findall(r"\d+", colour)
    assert len(found) == 3, colour
    return "#" + "".join(f"{int(value):02x}" for value in found)


@pytest.mark.parametrize("dark", [False, True])
def test_as_it_is_shown(dark: bool, board_file: Path, show: Callable[..., Page]) -> None:
    """Every word on the page, with the colours that the browser gives it."""
    tab = show(board_file, dark=dark)
    tab.choose("#choose-domain", "Code")
    tab.evaluate("document.getElementById('theme').focus()")
    found = tab.evaluate(COLOURS)
    assert len(found) >= 6
    for pair in found:
        words, ground = pair.split(" on ")
        assert contrast(in_hex(words), in_hex(ground)) >= 4.5, pair


@pytest.mark.parametrize("width", [360, 700, 1280])
def test_the_page_never_scrolls_sideways(
    width: int, board_file: Path, show: Callable[..., Page]
) -> None:
    tab = show(board_file, width=width)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.click("#ranking-table .open")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate(
        "document.getElementById('card').getBoundingClientRect().right <= innerWidth"
    )


def test_a_phone_shows_what_matters(board_file: Path, show: Callable[..., Page]) -> None:
    """Rank, model, bits and interval; the rest is in the card. Targets are 24 pixels at least."""
    tab = show(board_file, width=360)
    assert tab.evaluate(
        "document.getElementById('ranking-table').scrollWidth"
        "<= document.getElementById('ranking-table').clientWidth"
    )
    head = [words for words in tab.texts("#ranking-table thead th") if words]
    assert [words.strip("↑ ") for words in head] == ["Rank", "Model", "Bits per byte"]
    assert tab.texts("#ranking-table .below")[0] == "1.019–1.061"
    assert (
        tab.evaluate(
            "[...document.querySelectorAll('button, select, .checks label')]"
            ".filter((n) => n.checkVisibility() && n.getBoundingClientRect().height < 24).length"
        )
        == 0
    )
