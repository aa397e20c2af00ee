from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.pages.chromium import Page
from tests.score.board.made_results import DOMAINS, several

LIMITS = (1.02, 1.1, 1.25, 1.6, 2.5, float("inf"))


def test_values_shades_and_the_best(board_file: Path, show: Callable[..., Page]) -> None:
    """Values are in the cells; shades follow from the results themselves."""
    tab = show(board_file)
    shown = tab.evaluate(
        "[...document.querySelectorAll('#heat-table tbody tr')].map((row) =>"
        "[row.querySelector('th').innerText, [...row.querySelectorAll('td')].map((n) =>"
        "[n.firstChild.data, n.className, n.title])])"
    )
    made = {one.model.name: one for key, one in several().items() if key not in ("wide", "other")}
    assert [name for name, _ in shown] == sorted(made, key=lambda name: made[name].overall.bpb or 0)
    for k, domain in enumerate(DOMAINS):
        values = {name: one.domains[k].bpb for name, one in made.items()}
        best = min(value for value in values.values() if value is not None)
        for name, cells in shown:
            text, classes, title = cells[k]
            value = values[name]
            assert value is not None
            assert text == f"{value:.2f}"
            step = next(n for n, limit in enumerate(LIMITS) if value / best <= limit)
            assert f"shade-{step}" in classes.split()
            assert ("best" in classes.split()) == (value == best)
            assert title.startswith(f"{name}, {domain}: {value:.3f}, 95% ")
    assert tab.texts("#heat-legend li") == [
        *("within 2% of the best", "within 10%", "within 25%"),
        *("within 60%", "within 2.5 times", "further"),
    ]
    assert tab.texts("#heat-table thead th") == ["Model", *DOMAINS]


def test_the_best_is_the_best_that_is_shown(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    tab.click("[data-key=kind-barrow]")
    tab.click("[data-key=kind-transformers]")
    bests = tab.evaluate(
        "[...document.querySelectorAll('#heat-table .best')].every((n) =>"
        "['xz', 'zstd:19', 'uniform'].includes(n.closest('tr').querySelector('th').innerText))"
    )
    assert bests
    assert tab.evaluate("document.querySelectorAll('#heat-table .best').length") == 3


def test_the_chosen_domain_is_marked(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    tab.choose("#choose-domain", "Law")
    assert tab.texts("#heat-table thead .chosen") == ["Law"]
    assert tab.evaluate("document.querySelectorAll('#heat-table td.chosen').length") == 7
