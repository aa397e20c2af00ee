from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.pages.chromium import Page
from tests.score.board.made_results import result, several, write

from barrow.score.board.server import board_server

NAMES = "#ranking-table tbody th"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
LIGHT, DARK = "rgb(253, 252, 250)", "rgb(20, 23, 27)"


def test_choosing_a_card(board_file: Path, show: Callable[..., Page]) -> None:
    """Results with other windows or texts are in no ranking with these."""
    tab = show(board_file)
    labels = tab.texts("#choose-card option")
    assert len(labels) == 3
    values = tab.evaluate("[...document.getElementById('choose-card').options].map((n) => n.value)")
    tab.choose("#choose-card", values[1])
    assert tab.texts(NAMES) == ["medium, wide", "xz", "zstd:19", "uniform"]
    assert "context 2,048, disjoint, prefix end" in tab.texts("#ground")[0]
    tab.choose("#choose-card", values[2])
    assert tab.texts(NAMES) == ["medium"]
    assert tab.texts("#choose-kinds label") == ["barrow"]
    assert "stories, test" in tab.texts("#ground")[0]


def test_filtering_by_kind(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    ranks = tab.texts("#ranking-table td.of-rank")
    tab.click("[data-key=kind-barrow]")
    assert tab.texts(NAMES) == ["pythia-70m", "xz", "zstd:19", "uniform"]
    assert tab.texts("#ranking-table td.of-rank") == ranks[3:]  # a rank is among all
    assert tab.texts("#count") == ["4 of 7 results"]
    assert tab.evaluate("document.activeElement.dataset.key") == "kind-barrow"
    for kind in ("baseline", "compressor", "transformers"):
        tab.click(f"[data-key=kind-{kind}]")
    assert tab.texts("#nothing") == ["Every kind is switched off. Show all"]
    assert tab.texts(NAMES) == []
    tab.click("#reset")
    assert len(tab.texts(NAMES)) == 7


def test_filtering_by_domain(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    tab.choose("#choose-domain", "Code")
    made = {one.model.name: one for key, one in several().items() if key not in ("wide", "other")}
    bits = {name: one.domains[1].bpb or 0.0 for name, one in made.items()}
    expected = sorted(bits, key=lambda name: bits[name])
    assert tab.texts(NAMES) == expected
    assert tab.texts("#ranking-table td.main") == [f"{bits[name]:.3f}" for name in expected]
    assert tab.texts("#ranking-table caption")[0].startswith("Bits per byte on Code,")
    assert "Weighted" not in tab.texts("#ranking-table thead th")


def test_an_address_leads_to_the_same_view(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    assert tab.evaluate("location.hash") == ""
    tab.choose("#choose-domain", "Law")
    tab.click("[data-key=kind-baseline]")
    tab.click("[data-key=sort-name]")
    tab.click("[data-key=sort-name]")
    tab.click("[name=x][value=size]")
    address = tab.evaluate("location.hash")
    assert address == "#domain=Law&hide=baseline&sort=name&order=down&x=size"
    again = show(board_file, after=address)
    for selector in (NAMES, "#ranking-table caption", "#count", "#chart-note"):
        assert again.texts(selector) == tab.texts(selector)
    assert again.evaluate("document.querySelector('[name=x]:checked').value") == "size"
    assert again.evaluate("document.getElementById('choose-domain').value") == "Law"


@pytest.mark.parametrize("dark", [False, True])
def test_themes(dark: bool, board_file: Path, show: Callable[..., Page]) -> None:
    """The system's at first; the button's from then on, with the keyboard too."""
    tab = show(board_file, dark=dark)
    here, there = (DARK, LIGHT) if dark else (LIGHT, DARK)
    assert tab.evaluate(BACKGROUND) == here
    pressed = "document.getElementById('theme').getAttribute('aria-pressed')"
    assert tab.evaluate(pressed) == str(dark).lower()
    tab.click("#theme")
    assert tab.evaluate(BACKGROUND) == there
    assert tab.evaluate(pressed) == str(not dark).lower()
    tab.focus("#theme")
    tab.press("Enter")
    assert tab.evaluate(BACKGROUND) == here
    tab.evaluate("localStorage.clear()")


def test_what_was_left_out_is_named(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    words = tab.texts("#left-out-list li")
    assert [word.partition(":")[0] for word in words] == ["manifest.json", "torn.json"]
    assert "is not a result of `barrow score`" in words[0]
    assert "is not JSON" in words[1]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    folder = tmp_path / "results"
    folder.mkdir()
    with board_server([folder], live=0.05) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", folder
        server.shutdown()
        thread.join()


def test_results_that_arrive(served: tuple[str, Path], show: Callable[..., Page]) -> None:
    """From nothing on; what was chosen, and the focus, stay as they are."""
    address, folder = served
    tab = show(address)
    assert tab.texts("#empty h2") == ["No results yet"]
    for number, made in enumerate((result("small", 1.2, params=10), several()["xz"]), 1):
        write(folder, {made.model.name: made})
        tab.wait(f"document.querySelectorAll('#ranking-table tbody tr').length == {number}")
        assert tab.texts("#live") == ["1 new result"]
    assert tab.texts("#empty") == []
    tab.click("[data-key=kind-compressor]")
    tab.choose("#choose-domain", "Law")
    tab.click("[data-key=sort-name]")
    tab.click("[data-key=sort-name]")
    (folder / "half.json").write_text('{"format": ')
    tab.wait("document.querySelectorAll('#left-out-list li').length == 1")
    (folder / "half.json").unlink()
    write(folder, {"tall": result("tall", 1.0, params=20)})
    tab.wait("document.querySelectorAll('#ranking-table tbody tr').length == 2")
    assert tab.texts(NAMES) == ["tall", "small"]
    assert tab.texts("#live") == ["1 new result"]
    assert tab.texts("#count") == ["2 of 3 results"]
    assert tab.evaluate("document.getElementById('choose-domain').value") == "Law"
    assert tab.evaluate("document.activeElement.dataset.key") == "sort-name"
    assert {url.removeprefix(address) for url in tab.requests()} <= {"", "version", "board.json"}


def test_a_card_stays_open_while_results_arrive(
    served: tuple[str, Path], show: Callable[..., Page]
) -> None:
    address, folder = served
    write(folder, {"small": result("small", 1.2)})
    tab = show(address)
    tab.click(".open")
    write(folder, {"tall": result("tall", 1.0)})
    tab.wait("document.querySelectorAll('#ranking-table tbody tr').length == 2")
    assert tab.texts("#card h2") == ["small"]
    tab.press("Escape")
    tab.wait("!document.getElementById('card').open")
    tab.wait("document.activeElement.innerText == 'small'")
