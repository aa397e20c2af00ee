"""Functions that crash, hang or eat memory, run in a process of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import barrow
from barrow.corpus.input import isolated as module
from barrow.corpus.input.isolated import Failure, Isolated, isolated

FUNCTIONS = """
import ctypes, os, signal, sys, time

calls = 0

def echo(data, **options): return {"data": data, "pid": os.getpid(), **options}
def length(data): return len(data)
def big(data, *, size): return b"x" * size
def null(data): ctypes.string_at(0)
def kill(data): os.kill(os.getpid(), signal.SIGKILL)
def leave(data): os._exit(3)
def spin(data):
    while True: pass
def spin_in_c(data): ctypes.CDLL(None).pause()
def keep_gil(data): ctypes.PyDLL(None).pause()
def eat(data):
    held = []
    while True: held.append(bytearray(1 << 24))
def eat_and_abort(data):
    held = []
    try:
        while True: held.append(b"x" * (1 << 24))
    except MemoryError:
        os.abort()
def fail(data): raise ValueError("not \\udcff this")
def deep(data): return deep(data)
def unsendable(data): return object()
def chatter(data):
    print("noise"); os.write(1, b"noise"); os.write(2, b"noise")
    return sys.stdin.read()
def count(data):
    global calls
    calls += 1
    return calls
def fail_second(data):
    if count(data) == 2: os.abort()
    return calls
def children(data): return [os.getpid(), os.getppid()]
def any_of(data, *, name, **options): return globals()[name](data, **options)
def say_and_hang(data, *, path):
    open(path, "w").write(str(os.getpid()))
    while True: pass
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Isolated]]:
    (tmp_path / "functions_to_isolate.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(tmp_path)
    # The module without its package, which takes ten times as long to import.
    alone = f"import sys; sys.path[:] = {{path}}\nimport runpy\nrunpy.run_path({module.__file__!r})"
    monkeypatch.setattr(module, "_START", f"{alone}['_serve']({{own}})")
    runners = []

    def run(name: str, *, seconds: float = 10, memory: int = 1 << 30) -> Isolated:
        function = f"functions_to_isolate:{name}"
        runners.append(Isolated(function, seconds=seconds, memory=memory))
        return runners[-1]

    yield run
    for runner in runners:
        runner.close()


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def ends(pid: int, seconds: float = 120) -> bool:
    limit = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < limit:
        time.sleep(0.01)
    return not is_alive(pid)


def test_results_and_one_child_for_many(run: Callable[..., Isolated]) -> None:
    echo = run("echo")
    first = echo(b"\0abc", text="naïve", numbers=[1, 2.5, None])
    pid = first.pop("pid")
    assert first == {"data": b"\0abc", "text": "naïve", "numbers": [1, 2.5, None]}
    assert pid != os.getpid()
    assert {echo(b"")["pid"] for _ in range(20)} == {pid}


def test_large_data_and_results(run: Callable[..., Isolated]) -> None:
    data = bytes(range(256)) * (1 << 15)
    any_of = run("any_of")
    assert any_of(data, name="echo")["data"] == data
    assert any_of(name="big", size=20_000_000) == b"x" * 20_000_000


def test_crash(run: Callable[..., Isolated]) -> None:
    any_of = run("any_of")
    for name, how in (("null", "signal 11"), ("leave", "exit status 3"), ("kill", "signal 9")):
        assert any_of(b"x", name=name) == Failure("crashed", f"the process ended with {how}")
    assert any_of(b"x", name="length") == 1


@pytest.mark.parametrize("name", ["spin", "spin_in_c", "keep_gil"])
def test_hang(run: Callable[..., Isolated], name: str) -> None:
    assert run(name, seconds=0.2)(b"") == Failure("too-slow", "more than 0.2 s")


def test_a_child_that_was_stopped(
    run: Callable[..., Isolated], monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = run("echo", seconds=3)
    pid = echo(b"")["pid"]
    monkeypatch.setattr(module, "_GRACE", 0.1)
    os.kill(pid, signal.SIGSTOP)
    assert echo(b"").reason == "too-slow"
    monkeypatch.setattr(module, "_GRACE", 20.0)
    assert echo(b"x" * 10_000_000)["pid"] != pid
    assert not is_alive(pid)


@pytest.mark.parametrize(("name", "reason"), [("eat", "too-large"), ("eat_and_abort", "crashed")])
def test_memory(run: Callable[..., Isolated], name: str, reason: str) -> None:
    assert run(name, memory=1 << 29)(b"").reason == reason


def test_more_data_than_memory(run: Callable[..., Isolated]) -> None:
    length = run("length", memory=300 << 20)
    assert length(bytes(400 << 20)).reason == "too-large"
    assert length(b"abc") == 3


def test_exceptions(run: Callable[..., Isolated]) -> None:
    any_of = run("any_of")
    pid = any_of(b"", name="echo")["pid"]
    assert any_of(b"", name="fail") == Failure("raised", "ValueError: not \\udcff this")
    assert any_of(b"", name="deep").reason == "raised"
    assert any_of(b"", name="unsendable").reason == "raised"
    assert any_of(b"", name="echo")["pid"] == pid, "it is still there"


def test_what_it_prints_goes_nowhere(run: Callable[..., Isolated], capfd: object) -> None:
    chatter = run("chatter")
    assert [chatter(b""), chatter(b"")] == ["", ""]
    assert capfd.readouterr() == ("", "")  # type: ignore[attr-defined]


def test_only_a_new_child_gives_a_verdict(run: Callable[..., Isolated]) -> None:
    fail_second = run("fail_second")
    assert [fail_second(b"") for _ in range(3)] == [1, 1, 1]


def test_a_new_child_now_and_then(
    run: Callable[..., Isolated], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CALLS", 3)
    count = run("count")
    assert [count(b"") for _ in range(7)] == [1, 2, 3, 1, 2, 3, 1]


def test_an_exception_while_waiting_ends_the_call(run: Callable[..., Isolated]) -> None:
    """The stage that reads raw files has an alarm of its own, which may go off at any time."""

    class Alarm(Exception):
        pass

    def stop(*_: object) -> None:
        raise Alarm

    spin = run("spin")
    previous = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(Alarm):
            spin(b"")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert spin._child is None


def test_a_child_killed_between_calls_is_replaced(run: Callable[..., Isolated]) -> None:
    echo = run("echo")
    pid = echo(b"")["pid"]
    os.kill(pid, signal.SIGKILL)
    assert echo(b"")["pid"] != pid


def test_close_leaves_no_process_and_no_descriptor(run: Callable[..., Isolated]) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    echo = run("echo")
    pid = echo(b"")["pid"]
    echo.close()
    echo.close()
    assert not Path(f"/proc/{pid}").exists()
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_threads_take_turns(run: Callable[..., Isolated]) -> None:
    echo = run("echo")
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(echo(b"%d" % n)["data"]))  # type: ignore[misc]
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [b"%d" % n for n in range(8)]


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_in_a_daemonic_worker(run: Callable[..., Isolated], tmp_path: Path, method: str) -> None:
    """Which may have no children of multiprocessing's own, and may be a fork of one that has."""
    code = textwrap.dedent(
        f"""
        import multiprocessing, os, sys
        from barrow.corpus.input.isolated import isolated

        def work(path, pipe):
            sys.path.insert(0, path)
            runner = isolated("functions_to_isolate:children")
            pipe.send([runner(b""), runner(b""), os.getpid()])

        if __name__ == "__main__":
            sys.path.insert(0, {str(tmp_path)!r})
            ours = isolated("functions_to_isolate:children")
            child, parent = ours(b"")
            context = multiprocessing.get_context({method!r})
            pipe, theirs = context.Pipe()
            process = context.Process(target=work, args=({str(tmp_path)!r}, theirs), daemon=True)
            process.start()
            first, second, worker = pipe.recv()
            process.join()
            assert first == second, (first, second)
            assert first[1] == worker, (first, worker)
            assert first[0] != child
            assert ours(b"") == [child, parent]
            print(first[0], child)
        """
    )
    (tmp_path / "program.py").write_text(code)
    pids = subprocess.run(
        [sys.executable, "-W", "ignore", tmp_path / "program.py"],
        env={**os.environ, "PYTHONPATH": str(Path(barrow.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert all(ends(int(pid)) for pid in pids.split())


@pytest.mark.parametrize("how", ["idle", "busy"])
def test_a_parent_that_is_killed_takes_its_child_with_it(
    run: Callable[..., Isolated], tmp_path: Path, how: str
) -> None:
    note = tmp_path / "pid"
    call = (
        f'isolated("functions_to_isolate:say_and_hang", seconds=600)(b"", path={str(note)!r})'
        if how == "busy"
        else f'pid = isolated("functions_to_isolate:echo")(b"")["pid"]\n'
        f'open({str(note)!r}, "w").write(str(pid))\nimport time; time.sleep(600)'
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    code += f"from barrow.corpus.input.isolated import isolated\n{call}"
    environment = {**os.environ, "PYTHONPATH": str(Path(barrow.__file__).parents[1])}
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as parent:
        while not note.exists() or not note.read_text():
            assert parent.poll() is None
            time.sleep(0.01)
        pid = int(note.read_text())
        assert is_alive(pid)
        parent.kill()
    assert ends(pid)


def test_one_runner_for_the_same_limits(run: Callable[..., Isolated]) -> None:
    assert isolated("a:b") is isolated("a:b")
    assert isolated("a:b") is not isolated("a:b", seconds=1)
