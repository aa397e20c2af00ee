from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.pages.chromium import Page
from tests.score.board.made_results import several

OPEN = "document.getElementById('card').open"


def test_a_card_by_keyboard_alone(board_file: Path, show: Callable[..., Page]) -> None:
    """Tab to the first model, open it, read it, close it; the focus comes back."""
    tab = show(board_file)
    for _ in range(60):
        tab.press("Tab")
        key = tab.evaluate("document.activeElement.dataset.key || ''")
        if key.startswith("open-"):
            break
    assert tab.evaluate("document.activeElement.innerText") == "large"
    tab.press("Enter")
    assert tab.evaluate(OPEN)
    assert tab.evaluate("document.activeElement.innerText") == "Close"
    assert tab.evaluate("document.getElementById('card').matches(':modal')")
    tab.press("Escape")
    tab.wait(f"!{OPEN} && document.activeElement.dataset.key == '{key}'")


def test_what_a_card_says(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    card = several()["medium"].card
    identity = tab.evaluate(
        "[...document.querySelectorAll('.open')].find((n) => n.innerText == 'medium').dataset.key"
    )
    tab.click(f"[data-key={identity}]")
    (words,) = tab.texts("#card")
    for part in (
        f"medium: 1.0600 bits per byte (95% 1.0388–1.0812) on pocket, test; score card {card.hash}",
        card.ground.digest,
        "3,000,000 (UTF-8 bytes of the raw text)",
        "context 1,024, stride 512, prefix begin in every window",
        "40,000,000",
        several()["medium"].model.identity,
        "shared 13-grams",
        "1.2%",
        "medium",
        "batch",
    ):
        assert part in words
    rows = tab.texts("#card tbody tr")
    assert [row.split()[0] for row in rows] == ["ArXiv", "Code", "Law", "All"]
    assert tab.evaluate("document.getElementById('card').getAttribute('aria-labelledby')")
    tab.click("#card .close")
    assert not tab.evaluate(OPEN)


def test_provenance_and_an_unknown_training_corpus(
    board_file: Path, show: Callable[..., Page]
) -> None:
    tab = show(board_file)
    tab.click("tbody tr:nth-child(3) .open")
    (words,) = tab.texts("#card")
    assert "runs/small" in words
    assert "Not measured: the training corpus is not known." in words


def test_a_click_beside_it_closes_it(board_file: Path, show: Callable[..., Page]) -> None:
    tab = show(board_file)
    tab.click(".open")
    assert tab.evaluate(OPEN)
    for kind in ("mousePressed", "mouseReleased"):
        tab.send("Input.dispatchMouseEvent", type=kind, x=5, y=5, button="left", clickCount=1)
    assert not tab.evaluate(OPEN)
