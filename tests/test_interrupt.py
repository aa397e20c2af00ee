from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.interrupted import dropped

from barrow import Document
from barrow.ahead import map_ahead
from barrow.compress import observe, prune
from barrow.interrupt import check_interrupt, is_asked, remembered, stop_on_signals
from barrow.launch import workers
from barrow.mix.search import Search
from barrow.score import open_model, score
from barrow.serve import Engine


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_asks_the_second_acts(number: int) -> None:
    heard: list[int] = []
    before = signal.signal(number, lambda n, _: heard.append(n))
    mine = signal.getsignal(number)
    try:
        with stop_on_signals() as stop:
            assert not stop.asked
            os.kill(os.getpid(), number)
            assert stop.asked
            assert heard == []
            os.kill(os.getpid(), number)
            assert heard == [number]
        assert signal.getsignal(number) is mine
    finally:
        signal.signal(number, before)


def test_handlers_come_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), stop_on_signals():
        assert signal.getsignal(signal.SIGINT) is not before
        _ = 1 / 0
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_catch_nothing() -> None:
    before, asked = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with stop_on_signals() as stop:
            asked.append((stop.asked, signal.getsignal(signal.SIGINT) is before))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [(False, True)]


def test_a_dropped_one_is_remembered() -> None:
    with pytest.raises(KeyboardInterrupt), remembered():
        dropped()
        assert is_asked()
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
        with pytest.raises(KeyboardInterrupt):
            list(map_ahead(str, range(3), threads=2))
        thread = threading.Thread(target=check_interrupt)  # which has nobody to raise to
        thread.start()
        thread.join()
    assert not is_asked()
    check_interrupt()
    dropped()  # and by Python's own handler, as before
    assert not is_asked()


def test_one_that_is_raised_is_raised_once() -> None:
    with remembered():
        pass
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), remembered(), remembered():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    with remembered():
        check_interrupt()


def test_what_ignores_ctrl_c_still_does() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with remembered():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_loop_that_saves_sees_one_that_was_dropped_before_it() -> None:
    """And the next one acts at once."""
    with pytest.raises(KeyboardInterrupt), remembered():
        dropped()
        with stop_on_signals() as stop:
            assert stop.asked
            check_interrupt()  # the loop is not disturbed while it saves
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)


def test_one_that_a_loop_did_not_act_on_is_raised_after_it() -> None:
    """It came in the last step."""
    with pytest.raises(KeyboardInterrupt), remembered():
        with stop_on_signals():
            signal.raise_signal(signal.SIGINT)
        check_interrupt()
        pytest.fail("it was lost")


def one_group() -> Any:
    """A search with one group that was not trained."""
    search = Search(Path("nowhere"), None)  # type: ignore[arg-type]
    vars(search)["plan"] = SimpleNamespace(runs=[SimpleNamespace(group="g")])
    return search


def one_worker() -> None:
    """A process that has ended, and says so."""
    ended = SimpleNamespace(code=None, process=SimpleNamespace(returncode=0), ended=None)
    said: Any = SimpleQueue()
    said.put((ended, "end", b""))
    workers._follow([ended], said, print)  # type: ignore[list-item]


ROWS = np.zeros((1, 4), np.int32)
TWO_LAYERS: Any = SimpleNamespace(config=SimpleNamespace(layers=2))


@pytest.mark.parametrize(
    "loop",
    [
        lambda: one_group().train(),
        one_worker,
        lambda: next(observe.observed(None, {}, ROWS, products=False)),
        lambda: prune.importance(None, {"layers": ()}, ROWS),
        lambda: prune._without_layers(TWO_LAYERS, {}, 0.5, ROWS, None),
        lambda: list(Engine.run(SimpleNamespace(is_idle=False, _open=()), [])),  # type: ignore[arg-type]
        lambda: score(open_model("uniform"), [Document("a", {})], on_progress=pytest.fail),  # type: ignore[arg-type]
    ],
    ids=["mix", "launch", "observe", "importance", "layers", "engine", "score"],
)
def test_loops_raise_one_that_was_dropped(loop: Callable[[], object]) -> None:
    """Before the next piece of work: what the loops work on here is good for none."""
    with pytest.raises(KeyboardInterrupt), remembered():
        dropped()
        loop()
        pytest.fail("the loop ended")
