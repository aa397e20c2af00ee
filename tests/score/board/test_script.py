from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.pages.chromium import Page

from barrow.score.board.page import SCRIPT


def test_it_leaves_no_name_outside_and_asks_for_nothing(
    board_file: Path, show: Callable[..., Page]
) -> None:
    """No complaint in the console either, which `show` checks of every page."""
    assert SCRIPT.startswith('(() => {\n"use strict";')
    tab = show(board_file)
    assert tab.evaluate("typeof state + typeof draw + typeof COLUMNS") == "undefined" * 3
    assert tab.requests() == [board_file.as_uri()]


def test_the_policy_refuses_what_the_page_does_not_do(
    board_file: Path, browser: object, show: Callable[..., Page]
) -> None:
    """Were a name to become a script or an address, it would not run or be fetched."""
    tab = show("about:blank")
    tab.go(board_file.as_uri())
    outcome = tab.evaluate(
        "(async () => { const s = document.createElement('script');"
        "s.textContent = 'window.ran = true'; document.body.append(s);"
        "const asked = await fetch('data:,x').then(() => 'fetched', () => 'refused');"
        "return [window.ran === undefined, asked]; })()"
    )
    assert outcome == [True, "refused"]
    assert len(tab.complaints()) >= 2
    tab.forget()
