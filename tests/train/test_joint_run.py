"""Processes of a run that begin alike and hear of failures: here threads, with words in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jax
import pytest
from tests.parallel.service import Service

from barrow.errors import ConfigError, Diverged, PeerFailed
from barrow.train.interrupt import Interrupted
from barrow.train.joint_run import Alone, Together, heard, joined


def member(
    words: Service, process: int = 0, *, patience: float = 30, grace: float = 30
) -> Together:
    return Together(words.rooms(3)[process], patience=patience, nap=0.01, grace=grace)


def in_three(act: Callable[[Together], None]) -> list[BaseException | None]:
    """What each raised."""
    words = Service()

    def inside(process: int) -> None:
        with heard(member(words, process)) as one:
            act(one)

    with ThreadPoolExecutor(3) as threads:
        return [future.exception() for future in [threads.submit(inside, n) for n in range(3)]]


def test_one_process_agrees_with_itself() -> None:
    with joined() as others:
        assert others == Alone()
        others.agree("settings", {"seed": 1})


def test_processes_of_the_same_settings_go_on() -> None:
    def act(one: Together) -> None:
        one.agree("settings", {"seed": 1, "layers": (1, 2)})
        one.agree("begin", {})

    assert in_three(act) == [None] * 3


def test_other_settings_are_refused_in_all_and_listed() -> None:
    def act(one: Together) -> None:
        other = {"mesh.zero": 3, "more": 1} if one.process == 2 else {"mesh.zero": 0}
        one.agree("settings", {"seed": 1, **other})

    raised = in_three(act)
    assert {type(error) for error in raised} == {ConfigError}
    told = "(mesh.zero: 3, the first 0; more: 1, the first None): start all processes with the same"
    assert {str(error) for error in raised} == {
        f"process 2 has other settings than the first {told}"
    }


def test_who_fails_before_is_heard_by_those_who_wait() -> None:
    def act(one: Together) -> None:
        if one.process == 1:
            raise FileNotFoundError("no store")
        one.agree("settings", {})

    first, second, third = in_three(act)
    assert isinstance(second, FileNotFoundError)
    for error in (first, third):
        assert isinstance(error, PeerFailed)
        assert str(error) == "process 1 failed: FileNotFoundError: no store"


def test_who_never_comes_is_not_waited_for_without_end() -> None:
    with pytest.raises(PeerFailed, match=r"waited 0\.05 s for process 1 \(settings/1\)"):
        member(Service(), patience=0.05).agree("settings", {})


def test_who_does_not_leave_after_a_failure_is_ended() -> None:
    """As one that waits for devices: nothing can be raised in it."""
    words = Service()
    member(words, 1).fail("process 1 failed: OSError: full")
    ended: list[str] = []
    over = threading.Event()

    def end(told: str) -> None:
        ended.append(told)
        over.set()

    with heard(member(words, grace=0.01), end=end):
        assert over.wait(30)
    assert ended == ["process 1 failed: OSError: full"]


def test_who_leaves_in_time_is_not_ended() -> None:
    words, ended = Service(), []
    with heard(member(words, grace=5), end=ended.append):
        member(words, 1).fail("process 1 failed")
    assert ended == []


@pytest.mark.parametrize("error", [Interrupted("asked"), Diverged("step 3: NaN", step=3)])
def test_what_all_come_to_by_themselves_is_not_told(error: BaseException) -> None:
    words = Service()
    with pytest.raises(type(error)), heard(member(words)):
        raise error
    assert words.table == {}


@pytest.mark.parametrize(
    "words_of_jax",
    [
        "UNKNOWN: Gloo all-reduce failed: Read error: Connection reset by peer",
        "INTERNAL: NCCL operation failed: unhandled system error",
        "UNAVAILABLE: Socket closed",
    ],
)
def test_devices_that_do_not_answer_are_put_in_words(words_of_jax: str) -> None:
    words = Service()
    with pytest.raises(PeerFailed, match="process 2 cannot reach"), heard(member(words, 2)):
        raise jax.errors.JaxRuntimeError(words_of_jax)
    assert "start all processes again" in str(member(words).failure())
    # Where another has told why, that is said.
    words = Service()
    member(words, 1).fail("process 1 failed: ValueError: id 300")
    with pytest.raises(PeerFailed, match="^process 1 failed: V.* 300$"), heard(member(words, 2)):
        raise jax.errors.JaxRuntimeError(words_of_jax)


def test_an_error_of_our_own_devices_stays_itself() -> None:
    words = Service()
    full = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")
    with pytest.raises(type(full), match="RESOURCE_EXHAUSTED"), heard(member(words, 2)):
        raise full
    assert str(member(words).failure()).startswith("process 2 failed: JaxRuntimeError: RESOURCE")


def test_a_service_that_is_gone_hides_no_error() -> None:
    words = Service()
    words.is_gone = True
    with pytest.raises(ValueError, match="mine"), heard(member(words)):
        raise ValueError("mine")


def test_who_is_being_ended_does_not_go_on_meanwhile() -> None:
    """Ending takes a while: the others are met. Until then nothing may go its own way."""
    words, steps = Service(), []
    begun, over = threading.Event(), threading.Event()

    def end(told: str) -> None:
        del told
        begun.set()
        over.wait(0.2)
        steps.append("ended")

    member(words, 1).fail("process 1 failed")
    with heard(member(words, grace=0.01), end=end):
        assert begun.wait(30)
    steps.append("left")
    assert steps == ["ended", "left"]
