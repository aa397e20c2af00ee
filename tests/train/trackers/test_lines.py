from __future__ import annotations

import io

import pytest

from barrow.train.trackers import Lines
from barrow.train.trackers.lines import in_words

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
    assert in_words(5, 10, {"loss": 1.0, "held_out_loss": 1.25, "overflow": "embed/table"}) == (
        "step 5/10  loss 1.0000  validation 1.2500  overflow in embed/table"
    )


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
