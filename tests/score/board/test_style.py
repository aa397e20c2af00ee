from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pages.chromium import Page
from tests.pages.contrast import contrast

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
