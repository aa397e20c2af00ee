"""Processes that agree after which step they stop; a table stands in for the service."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest

from barrow.train.agreed_stop import Alone, Together, agreed_stop


class Client:
    def __init__(self) -> None:
        self.table: dict[str, str] = {}
        self.is_gone = False

    def key_value_set(self, key: str, value: str) -> None:
        if key in self.table:
            raise jax.errors.JaxRuntimeError(f"ALREADY_EXISTS: {key}")
        self.table[key] = value

    def key_value_try_get(self, key: str) -> str:
        if self.is_gone:
            raise jax.errors.JaxRuntimeError("UNAVAILABLE: the service is gone")
        if key not in self.table:
            raise jax.errors.JaxRuntimeError(f"NOT_FOUND: {key}")
        return self.table[key]


def test_one_process_stops_when_it_is_asked(tmp_path: Path) -> None:
    stop = agreed_stop(tmp_path)
    assert stop == Alone()
    assert [stop.is_now(step, is_asked=step == 2) for step in range(3)] == [False, False, True]


@pytest.mark.parametrize("lead", [-1, 0, 1])
@pytest.mark.parametrize("both", [False, True])
def test_all_stop_after_the_same_step(lead: int, both: bool) -> None:
    """One is asked after step 4; the other is a step behind, beside or ahead, and looks first."""
    client = Client()
    first, second = Together(client, "stop"), Together(client, "stop")
    stopped: dict[str, int] = {}
    for step in range(12):
        other = step + lead
        if "second" not in stopped and second.is_now(other, is_asked=both and other >= 4):
            stopped["second"] = other
        if "first" not in stopped and first.is_now(step, is_asked=step >= 4):
            stopped["first"] = step
    assert stopped == {"first": 6, "second": 6}


def test_a_service_that_is_gone_is_not_taken_for_silence() -> None:
    client = Client()
    client.is_gone = True
    with pytest.raises(jax.errors.JaxRuntimeError, match="UNAVAILABLE"):
        Together(client, "stop").is_now(0, is_asked=False)
