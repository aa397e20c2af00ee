from __future__ import annotations

import threading

import jax
import pytest
from tests.parallel.service import Service

from barrow.parallel.room import open_room


def test_words_are_told_once_and_seen_by_all() -> None:
    first, second = Service().rooms(2)
    assert second.look("word") is None
    assert first.tell("word", {"layers": [1, 2]})
    assert second.look("word") == first.look("word") == {"layers": [1, 2]}
    assert not second.tell("word", "other")
    assert first.look("word") == {"layers": [1, 2]}


def test_who_hears_waits() -> None:
    first, second = Service().rooms(2)
    later = threading.Timer(0.1, lambda: first.tell("word", ""))
    later.start()
    assert second.hear("word", seconds=60) == ""
    later.join()
    with pytest.raises(jax.errors.JaxRuntimeError, match="DEADLINE_EXCEEDED"):
        second.hear("silence", seconds=0.01)


def test_a_service_that_is_gone_is_not_taken_for_silence() -> None:
    service = Service()
    (room,) = service.rooms(1)
    service.is_gone = True
    for act in (lambda: room.tell("word", 1), lambda: room.look("word")):
        with pytest.raises(jax.errors.JaxRuntimeError, match="UNAVAILABLE"):
            act()


def test_a_single_process_has_none() -> None:
    assert open_room("run") is None
