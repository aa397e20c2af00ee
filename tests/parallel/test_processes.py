"""Processes that act together, agree, stop and fail: here threads, with words in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jax
import pytest
from tests.parallel.service import Service

from barrow.errors import ConfigError, Diverged, PeerFailed
from barrow.interrupt import Interrupted
from barrow.parallel import processes
from barrow.parallel.processes import Peers, Together, open_peers

SHARED = (Interrupted, Diverged)


def together(
    act: Callable[[Peers], None], *, num: int = 3, timeout: float = 60
) -> list[Exception | None]:
    """What each process raised."""
    peers = Service().peers(num, timeout=timeout, nap=0.01)
    with ThreadPoolExecutor(num) as threads:
        futures = [threads.submit(act, one) for one in peers]
        return [future.exception() for future in futures]  # type: ignore[misc]


def test_all_act_before_any_goes_on() -> None:
    acted: list[str] = []

    def act(peers: Peers) -> None:
        peers.lead("begin", lambda: acted.append("begin"))
        assert acted[0] == "begin"
        peers.everyone("write", lambda: acted.append("write"))
        assert acted.count("write") == 3
        peers.lead("commit", lambda: acted.append("commit"))
        assert acted[-1] == "commit"

    assert together(act) == [None, None, None]
    assert acted == ["begin", "write", "write", "write", "commit"]


@pytest.mark.parametrize("who", [0, 1, 2])
def test_one_that_fails_is_heard_by_all(who: int) -> None:
    reached = []

    def act(peers: Peers) -> None:
        def write() -> None:
            if peers.process == who:
                raise OSError("disk full")

        peers.everyone("write", write)
        reached.append(peers.process)

    raised = together(act)
    assert reached == []
    assert isinstance(raised[who], OSError)
    for process, error in enumerate(raised):
        if process != who:
            assert isinstance(error, PeerFailed)
            assert "disk full" in str(error)


def test_a_lead_that_fails_is_heard_by_all() -> None:
    def fail() -> None:
        raise OSError("read-only")

    raised = together(lambda peers: peers.lead("begin", fail))
    assert isinstance(raised[0], OSError)
    assert [str(error) for error in raised[1:]] == ["process 0 failed: OSError: read-only"] * 2


def test_one_that_does_not_come() -> None:
    def act(peers: Peers) -> None:
        if peers.process != 2:
            peers.everyone("write", lambda: None)

    first, second, third = together(act, timeout=0.2)
    assert third is None
    assert isinstance(first, PeerFailed)
    assert "no answer from process 2 in 0.2 s (write/2)" in str(first)
    assert isinstance(second, PeerFailed)


def test_a_single_process_has_nobody_to_wait_for() -> None:
    peers = open_peers("run")
    assert peers == Peers()
    acted: list[int] = []
    peers.lead("a", lambda: acted.append(1))
    peers.everyone("b", lambda: acted.append(2))
    assert acted == [1, 2]
    peers.agree("settings", {"seed": 1})
    assert [peers.stops(step, is_asked=step == 2) for step in range(3)] == [False, False, True]
    with pytest.raises(ValueError, match="mine"), peers.watched():
        raise ValueError("mine")


@pytest.mark.parametrize("error", [None, ValueError("out of memory")])
def test_no_process_runs_a_program_before_all_have_compiled_it(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    """Gloo waits 30 s for a process that still compiles, and gives up."""
    peers, here = Service().peers(2, nap=0.01), threading.local()
    monkeypatch.setattr(processes, "open_peers", lambda *_, **__: peers[here.process])
    has_run, said = threading.Event(), list[str]()

    class Program:
        """As `jax.jit` gives it; the second process takes long to compile."""

        def lower(self, number: int) -> Program:
            assert number == 1
            return self

        def compile(self) -> None:
            if here.process == 1:
                has_run.wait(0.2)
                if error is not None:
                    raise error
            said.append("compiled")

        def __call__(self, number: int) -> int:
            has_run.set()
            said.append("run")
            return number + 1

    def act(process: int) -> list[int]:
        here.process = process
        together = Together(Program())
        return [together(1), together(2)]

    with ThreadPoolExecutor(2) as threads:
        futures = [threads.submit(act, process) for process in (0, 1)]
        raised = [future.exception() for future in futures]
    if error is None:
        assert raised == [None, None]
        assert said == ["compiled", "compiled", "run", "run", "run", "run"]
    else:
        assert raised[1] is error
        assert str(raised[0]) == "process 1 failed: ValueError: out of memory"
        assert said == ["compiled"]


def member(words: Service, process: int = 0, *, timeout: float = 30, grace: float = 30) -> Peers:
    return words.peers(3, timeout=timeout, nap=0.01, grace=grace)[process]


def in_three(act: Callable[[Peers], None]) -> list[BaseException | None]:
    """What each raised."""
    words = Service()

    def inside(process: int) -> None:
        with member(words, process).watched(shared=SHARED) as one:
            act(one)

    with ThreadPoolExecutor(3) as threads:
        return [future.exception() for future in [threads.submit(inside, n) for n in range(3)]]


def test_processes_of_the_same_settings_go_on() -> None:
    def act(one: Peers) -> None:
        one.agree("settings", {"seed": 1, "layers": (1, 2)})
        one.agree("begin", {})

    assert in_three(act) == [None] * 3


def test_other_settings_are_refused_in_all_and_listed() -> None:
    def act(one: Peers) -> None:
        other = {"mesh.zero": 3, "more": 1} if one.process == 2 else {"mesh.zero": 0}
        one.agree("settings", {"seed": 1, **other})

    raised = in_three(act)
    assert {type(error) for error in raised} == {ConfigError}
    told = "(mesh.zero: 3, the first 0; more: 1, the first None): start all processes with the same"
    assert {str(error) for error in raised} == {
        f"process 2 has other settings than the first {told}"
    }


def test_who_fails_before_is_heard_by_those_who_wait() -> None:
    def act(one: Peers) -> None:
        if one.process == 1:
            raise FileNotFoundError("no store")
        one.agree("settings", {})

    first, second, third = in_three(act)
    assert isinstance(second, FileNotFoundError)
    for error in (first, third):
        assert isinstance(error, PeerFailed)
        assert str(error) == "process 1 failed: FileNotFoundError: no store"


def test_who_never_comes_is_not_waited_for_without_end() -> None:
    with pytest.raises(PeerFailed, match=r"no answer from process 1 in 0\.05 s \(settings/1\)"):
        member(Service(), timeout=0.05).agree("settings", {})


def test_who_does_not_leave_after_a_failure_is_ended() -> None:
    """As one that waits for devices: nothing can be raised in it."""
    words = Service()
    member(words, 1).fail("process 1 failed: OSError: full")
    ended: list[str] = []
    over = threading.Event()

    def end(told: str) -> None:
        ended.append(told)
        over.set()

    with member(words, grace=0.01).watched(end=end):
        assert over.wait(30)
    assert ended == ["process 1 failed: OSError: full"]


def test_who_leaves_in_time_is_not_ended() -> None:
    words, ended = Service(), []
    with member(words, grace=5).watched(end=ended.append):
        member(words, 1).fail("process 1 failed")
    assert ended == []


@pytest.mark.parametrize("error", [Interrupted("asked"), Diverged("step 3: NaN", step=3)])
def test_what_all_come_to_by_themselves_is_not_told(error: BaseException) -> None:
    words = Service()
    with pytest.raises(type(error)), member(words).watched(shared=SHARED):
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
    with (
        pytest.raises(PeerFailed, match="process 2 cannot reach"),
        member(words, 2).watched(shared=SHARED),
    ):
        raise jax.errors.JaxRuntimeError(words_of_jax)
    assert "start all processes again" in str(member(words).failure())
    # Where another has told why, that is said.
    words = Service()
    member(words, 1).fail("process 1 failed: ValueError: id 300")
    with (
        pytest.raises(PeerFailed, match="^process 1 failed: V.* 300$"),
        member(words, 2).watched(shared=SHARED),
    ):
        raise jax.errors.JaxRuntimeError(words_of_jax)


def test_an_error_of_our_own_devices_stays_itself() -> None:
    words = Service()
    full = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")
    with (
        pytest.raises(type(full), match="RESOURCE_EXHAUSTED"),
        member(words, 2).watched(shared=SHARED),
    ):
        raise full
    assert str(member(words).failure()).startswith("process 2 failed: JaxRuntimeError: RESOURCE")


def test_a_service_that_is_gone_hides_no_error() -> None:
    words = Service()
    words.is_gone = True
    with pytest.raises(ValueError, match="mine"), member(words).watched(shared=SHARED):
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
    with member(words, grace=0.01).watched(end=end):
        assert begun.wait(30)
    steps.append("left")
    assert steps == ["ended", "left"]


@pytest.mark.parametrize("lead", [-1, 0, 1])
@pytest.mark.parametrize("both", [False, True])
def test_all_stop_after_the_same_step(lead: int, both: bool) -> None:
    """One is asked after step 4; the other is a step behind, beside or ahead, and looks first."""
    first, second = Service().peers(2)
    stopped: dict[str, int] = {}
    for step in range(12):
        other = step + lead
        if "second" not in stopped and second.stops(other, is_asked=both and other >= 4):
            stopped["second"] = other
        if "first" not in stopped and first.stops(step, is_asked=step >= 4):
            stopped["first"] = step
    assert stopped == {"first": 6, "second": 6}


def test_words_are_told_once_and_seen_by_all() -> None:
    first, second = Service().peers(2, nap=0.01)
    assert second.look("word") is None
    assert first.tell("word", {"layers": [1, 2]})
    assert second.look("word") == first.look("word") == {"layers": [1, 2]}
    assert not second.tell("word", "other")
    assert first.look("word") == {"layers": [1, 2]}


def test_who_hears_waits() -> None:
    first, second = Service().peers(2, nap=0.01)
    later = threading.Timer(0.1, lambda: first.tell("word", ""))
    later.start()
    assert second.wait("word", 0) == ""
    later.join()


def test_a_service_that_is_gone_is_not_taken_for_silence() -> None:
    service = Service()
    room = service.peers(2)[0]
    service.is_gone = True
    for act in (lambda: room.tell("word", 1), lambda: room.look("word")):
        with pytest.raises(jax.errors.JaxRuntimeError, match="UNAVAILABLE"):
            act()
