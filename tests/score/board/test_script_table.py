"""The table of the leaderboard, as its script shows it (PILE-10)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pages.chromium import Page
from tests.score.board.made_results import several

IN_ORDER = ["large", "medium", "small", "pythia-70m", "xz", "zstd:19", "uniform"]
NAMES = "#ranking-table tbody th"


def sorts(tab: Page) -> dict[str, str]:
    code = (
        "Object.fromEntries([...document.querySelectorAll('#ranking-table thead th')].map((n) =>"
        "[n.querySelector('button').dataset.key.slice(5), n.getAttribute('aria-sort')]))"
    )
    return dict(tab.evaluate(code))


def test_ranked_by_bits_per_byte_with_ties(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    assert tab.texts(NAMES) == IN_ORDER
    ranks = [" ".join(words.split()) for words in tab.texts("#ranking-table td.of-rank")]
    assert [rank.replace("tied ", "").replace("= ", "=") for rank in ranks] == [
        *("=1–2", "=1–2", "3", "4", "=5–6", "=5–6", "7"),
    ]
    assert sum("tied" in rank for rank in ranks) == 4
    assert tab.texts("#ranking-table td.main")[0] == "1.040"
    assert tab.texts("#ranking-table td.interval")[0] == "1.019–1.061"
    assert tab.texts("#count") == ["7 results"]
    from_best = [
        row[5]
        for row in tab.evaluate(
            "[...document.querySelectorAll('#ranking-table tbody tr')].map((row) =>"
            "[...row.children].map((cell) => cell.textContent))"
        )
    ]
    assert from_best[0] == "–"
    assert re.fullmatch(r"\+0\.0200 −0\.0\d{3} to \+0\.0\d{3}", from_best[1])
    # Figures are aligned on their right, with digits of one width.
    assert tab.evaluate(
        "[...document.querySelectorAll('#ranking-table td.number')].every((n) => {"
        "const s = getComputedStyle(n);"
        "return s.textAlign == 'right' && s.fontVariantNumeric == 'tabular-nums'; })"
    )


@pytest.mark.parametrize(
    ("key", "up"),
    [
        ("rank", IN_ORDER),
        ("name", sorted(IN_ORDER)),
        ("kind", ["large", "medium", "small", "uniform", "xz", "zstd:19", "pythia-70m"]),
        ("low", IN_ORDER),
        ("from_best", [*IN_ORDER[1:], IN_ORDER[0]]),
        ("weighted", IN_ORDER),
        ("params", ["small", "medium", "pythia-70m", "large", "xz", "zstd:19", "uniform"]),
        ("size", ["small", "medium", "pythia-70m", "large", "xz", "zstd:19", "uniform"]),
        ("train_tokens", ["small", "medium", "pythia-70m", "large", "xz", "zstd:19", "uniform"]),
        ("token_perplexity", [*IN_ORDER[:4], "uniform", "xz", "zstd:19"]),
        ("overlap", ["medium", "large", "small", "pythia-70m", "xz", "zstd:19", "uniform"]),
    ],
)
def test_sorting_by_a_column(
    key: str, up: list[str], board_file: Path, show: Callable[..., Page]
) -> None:
    """What is not known comes last, whichever way."""
    tab = show(board_file)
    tab.click(f"[data-key=sort-{key}]")
    assert tab.texts(NAMES) == up
    assert sorts(tab)[key] == "ascending"
    tab.click(f"[data-key=sort-{key}]")
    assert sorts(tab) == {name: "descending" if name == key else "none" for name in sorts(tab)}
    unknown = {
        "from_best": 1,
        "params": 3,
        "size": 3,
        "train_tokens": 3,
        "token_perplexity": 2,
        "overlap": 6,
    }.get(key, 0)
    down = tab.texts(NAMES)
    settled = len(up) - unknown
    assert down[settled:] == up[settled:]
    if key not in ("kind", "rank"):  # in these some are equal, and those stay by bits per byte
        assert down[:settled] == up[:settled][::-1]
    else:
        assert down != up


def test_every_column_can_be_sorted_and_only_those_with_figures_are_there(
    board_file: Path, show: Callable[..., Page], page_of: Callable[..., Path]
) -> None:
    tab = show(board_file)
    heads = tab.evaluate(
        "[...document.querySelectorAll('#ranking-table thead th')].map((n) =>"
        "[n.scope, n.querySelectorAll('button').length, n.hasAttribute('aria-sort')])"
    )
    assert heads == [["col", 1, True]] * len(heads)
    assert len(heads) == 14
    assert tab.evaluate(
        "[...document.querySelectorAll('#ranking-table tbody th')].every((n) => n.scope == 'row')"
    )
    alone = {name: made for name, made in several().items() if name in ("xz", "zstd")}
    few = show(page_of(alone))
    assert list(sorts(few)) == [
        *("rank", "name", "kind", "bpb", "low", "from_best", "weighted", "seconds"),
    ]


def test_sorting_with_the_keyboard_keeps_the_focus(
    board_file: Path, show: Callable[..., Page]
) -> None:
    tab = show(board_file)
    tab.focus("[data-key=sort-params]")
    tab.press("Enter")
    tab.press("Enter")
    assert tab.texts(NAMES)[0] == "large"
    assert tab.evaluate("document.activeElement.dataset.key") == "sort-params"


def test_sorting_on_a_phone(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file, width=360)
    tab.choose("#sort", "size")
    assert tab.texts(NAMES)[0] == "small"
    tab.click("#turn")
    assert tab.texts(NAMES)[0] == "large"
    assert tab.texts("#turn") == ["↓ highest first"]
