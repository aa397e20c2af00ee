from __future__ import annotations

import io
import sys

import pytest

from barrow.train.trackers import Lines, terminal
from barrow.train.trackers.terminal import Bar, in_words


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
    bar.log(6, {"loss": 1.5, "validation_loss": 1.625})
    bar.close()
    shown = screen.getvalue()
    assert "overflow in [red]" in shown
    assert "validation 1.6250" in shown
    assert "step 6/10  loss 1.5000" in shown


def test_plain_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(terminal(io.StringIO()), Lines)
    monkeypatch.setitem(sys.modules, "rich", None)
    assert isinstance(terminal(Screen()), Lines)


VALUES = {
    "loss": 3.45678,
    "bits_per_token": 4.987,
    "tokens": 100,
    "tokens_per_second": 12345.6,
    "mfu": 0.4123,
    "learning_rate": 3e-4,
    "grad_norm": 0.8123,
    "step_seconds": 2.0,
}


def test_a_line() -> None:
    assert in_words(119, 2000, VALUES) == (
        "step 119/2,000  loss 3.4568  4.987 bits/token  12,346 tok/s  MFU 41.2%  lr 3.00e-04  "
        "grad norm 0.812  ETA 1 h 02 min"
    )
    assert in_words(5, 10, {"loss": 1.0, "validation_loss": 1.25, "overflow": "embed/table"}) == (
        "step 5/10  loss 1.0000  validation 1.2500  overflow in embed/table"
    )


def test_devices_in_a_line() -> None:
    """The highest of them, and the process where no device reports (ACCELERATE-7)."""
    host = {"host_memory": 1 << 30, "host_memory_peak": 3 << 29}
    assert in_words(0, 2, host) == "step 0/2  peak 1.50 GiB"
    two = {"device0_memory_peak": 1 << 33, "device1_memory_peak": 1 << 34, "device1_power": 512.4}
    two |= {"device0_temperature": 61, "device1_temperature": 66, "device0_memory": 1 << 40}
    assert in_words(0, 2, host | two) == "step 0/2  peak 16.00 GiB  66 °C  512 W"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59, "59 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (90000, "1 d 1 h")],
)
def test_durations(seconds: float, words: str) -> None:
    assert in_words(0, 2, {"step_seconds": seconds}) == f"step 0/2  ETA {words}"


def test_lines_to_a_file() -> None:
    file = io.StringIO()
    lines = Lines(file)
    lines.begin({"steps": 10}, 0)
    lines.log(1, {"loss": 2.0})
    lines.close()
    lines.begin({"steps": 10}, 5)
    lines.close()
    assert file.getvalue() == "step 1/10  loss 2.0000\nresuming at step 5 of 10\n"
