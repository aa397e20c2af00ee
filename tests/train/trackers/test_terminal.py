from __future__ import annotations

import io
import sys

import pytest

from barrow.train.trackers import Lines, terminal
from barrow.train.trackers.terminal import Bar


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal() -> None:
    screen = Screen()
    bar = terminal(screen)
    assert isinstance(bar, Bar)
    bar.begin({"steps": 10}, 4)
    bar.log(4, {"loss": 2.25, "overflow": "[red]"})
    bar.log(5, {"loss": 1.75})
    bar.log(6, {"loss": 1.5, "held_out_loss": 1.625})
    bar.close()
    shown = screen.getvalue()
    assert "overflow in [red]" in shown
    assert "validation 1.6250" in shown
    assert "step 6/10  loss 1.5000" in shown


def test_plain_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(terminal(io.StringIO()), Lines)
    monkeypatch.setitem(sys.modules, "rich", None)
    assert isinstance(terminal(Screen()), Lines)
