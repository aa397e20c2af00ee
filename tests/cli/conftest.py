from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from barrow.cli.main import run


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def barrow(capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run the program in this process."""

    def call(*arguments: object) -> Outcome:
        code = run([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call
