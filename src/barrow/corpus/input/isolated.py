"""Runs a function that may crash, hang or exhaust memory in a separate process.

Input can crash parsers written in C, and Python cannot interrupt them. `isolated` keeps one child
process for many calls. It is started with the same interpreter, never forked, so it works from any
kind of worker; it ends with its parent, even a killed one, because their pipe closes.

The function takes bytes and keyword arguments; they and the result are MessagePack values.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import msgspec

_LENGTH = 8
_PIECE = 1 << 20
_GRACE = 20.0  # seconds to start, and to end before the child is killed
_NO_MEMORY = 77  # exit status when there was none for the request
_CALLS = 500  # after so many, a new child: libraries leak
_START = (
    "import sys; sys.path[:] = {path}\n"
    "from barrow.corpus.input.isolated import _serve; _serve({own})"
)


@dataclass(frozen=True)
class Failure:
    """A call without a result: the reason, and a description.

    ``crashed``: the process died; ``too-slow``, ``too-large``: it went over a limit; ``raised``:
    the function raised an exception.
    """

    reason: Literal["crashed", "too-slow", "too-large", "raised"]
    cause: str


def isolated(function: str, *, seconds: float = 30, memory: int = 2 << 30) -> Isolated:
    """Return this process's runner of ``module:name``, with limits on time and address space."""
    return _of_process(os.getpid(), function, seconds, memory)


@functools.cache
def _of_process(_pid: int, function: str, seconds: float, memory: int) -> Isolated:
    # By process: a fork inherits the pipes of its parent's child, but may not use them.
    return Isolated(function, seconds=seconds, memory=memory)


class Isolated:
    """Runs one function in a child process, a call at a time."""

    def __init__(self, function: str, *, seconds: float, memory: int) -> None:
        self._settings = {"function": function, "seconds": seconds, "memory": memory}
        self._seconds = seconds
        self._memory = memory
        self._child: _Child | None = None
        self._lock = threading.Lock()

    def __call__(self, data: bytes = b"", **options: Any) -> Any:
        """The function's result, or a `Failure`."""
        with self._lock:
            is_new = self._renew()
            outcome = self._once(data, options)
            # A failure may come from earlier calls: only a new child's counts.
            if isinstance(outcome, Failure) and outcome.reason in ("crashed", "too-large"):
                outcome = outcome if is_new else self._once(data, options)
            return outcome

    def close(self) -> None:
        """End the child; the next call starts another."""
        child, self._child = self._child, None
        if child is not None and child.owner == os.getpid():
            child.end(0)

    def _renew(self) -> bool:
        """Make sure there is a child of this process; whether it is new."""
        if self._child is not None and (self._child.calls >= _CALLS or self._child.is_dead()):
            self.close()
        return self._child is None

    def _once(self, data: bytes, options: dict[str, Any]) -> Any:
        child = self._child = self._child or _Child(self._settings, self.close)
        child.calls += 1
        try:
            child.send(msgspec.msgpack.encode(options), self._seconds + _GRACE)
            child.send(data, self._seconds + _GRACE)
            kind, value = msgspec.msgpack.decode(child.receive(self._seconds + _GRACE))
        except _Gone:
            self._child = None
            return self._verdict(child.end(_GRACE))
        except TimeoutError:
            self.close()
            return Failure("too-slow", f"no answer in {self._seconds:g} s")
        except BaseException:  # an alarm, Ctrl-C: the next call would get this answer
            self.close()
            raise
        if kind == "result":
            return value
        if kind == "too-large":  # its memory may be fragmented
            self.close()
        return Failure(kind, value)

    def _verdict(self, status: int) -> Failure:
        if status == _NO_MEMORY:
            return Failure("too-large", "no memory for so much data")
        if status == -signal.SIGALRM:
            return Failure("too-slow", f"more than {self._seconds:g} s")
        # C++ aborts when memory is refused, so it may have been that; the peak that the system
        # reports includes the parent's memory at the start.
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return Failure("crashed", f"the process ended with {how}")


class _Gone(Exception):
    """The other end of a pipe is closed."""


class _Child:
    """The process, as its parent sees it."""

    def __init__(self, settings: dict[str, Any], close: Callable[[], None]) -> None:
        code = _START.format(path=json.dumps(sys.path), own=repr(json.dumps(settings)))
        self._process = subprocess.Popen(  # noqa: S603 - the code is ours
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = self._process.stdin.fileno()
        self._answers = self._process.stdout.fileno()
        os.set_blocking(self._requests, False)
        self.owner = os.getpid()
        self.calls = 0
        self._close = close
        atexit.register(close)

    def is_dead(self) -> bool:
        return self._process.poll() is not None

    def send(self, data: bytes, seconds: float) -> None:
        end = time.monotonic() + seconds
        for piece in (len(data).to_bytes(_LENGTH, "little"), data):
            rest = memoryview(piece)
            while rest:
                _await(self._requests, select.POLLOUT, end)
                try:
                    rest = rest[os.write(self._requests, rest[:_PIECE]) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    raise _Gone from None

    def receive(self, seconds: float) -> bytes:
        end = time.monotonic() + seconds
        return self._read(int.from_bytes(self._read(_LENGTH, end), "little"), end)

    def _read(self, size: int, end: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            _await(self._answers, select.POLLIN, end)
            piece = os.read(self._answers, min(_PIECE, size - len(data)))
            if not piece:
                raise _Gone
            data += piece
        return bytes(data)

    def end(self, seconds: float) -> int:
        """Its exit status as `subprocess` gives it.

        It is killed if it has not ended after so many seconds.
        """
        atexit.unregister(self._close)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        if self._process.returncode is None:
            limit = time.monotonic() + seconds
            pid, status, _ = os.wait4(self._process.pid, os.WNOHANG)
            while not pid and time.monotonic() < limit:
                time.sleep(0.001)
                pid, status, _ = os.wait4(self._process.pid, os.WNOHANG)
            if not pid:
                self._process.kill()
                _, status, _ = os.wait4(self._process.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode


def _await(descriptor: int, event: int, end: float) -> None:
    waiting = select.poll()
    waiting.register(descriptor, event)
    if not waiting.poll(max(0.0, end - time.monotonic()) * 1000):
        raise TimeoutError


# In the child -------------------------------------------------------------------------------------


def _serve(settings_json: str) -> None:
    settings = json.loads(settings_json)
    requests, answers = _take_pipes()
    _be_bounded(settings["memory"])
    module, _, name = settings["function"].partition(":")
    function = getattr(importlib.import_module(module), name)
    while True:
        options, data = _request(requests), _request(requests)
        if options is None or data is None:
            return
        # The default of an alarm ends the process, even one that hangs.
        signal.setitimer(signal.ITIMER_REAL, settings["seconds"])
        with _ending_with_parent(requests):
            answer = _answer(function, data, options)
        signal.setitimer(signal.ITIMER_REAL, 0)
        answers.write(len(answer).to_bytes(_LENGTH, "little") + answer)
        answers.flush()
        del data, options, answer


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes; standard input and output are closed for all others."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return requests, answers


def _be_bounded(memory: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):  # some systems have no such limit
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGALRM, signal.SIGIO):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when we stop


def _request(requests: BinaryIO) -> bytes | None:
    length = requests.read(_LENGTH)
    if len(length) < _LENGTH:
        return None  # the parent is gone
    size = int.from_bytes(length, "little")
    try:
        data = requests.read(size)
    except MemoryError:
        sys.exit(_NO_MEMORY)
    return data if len(data) == size else None


@contextlib.contextmanager
def _ending_with_parent(requests: BinaryIO) -> Iterator[None]:
    """Let the system end this process when the pipe closes."""
    import fcntl

    descriptor = requests.fileno()
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_ASYNC)
    yield
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags)


def _answer(function: Callable[..., Any], data: bytes, options: bytes) -> bytes:
    try:
        result = function(data, **msgspec.msgpack.decode(options))
        return msgspec.msgpack.encode(("result", result))
    except MemoryError:
        return msgspec.msgpack.encode(("too-large", "out of memory"))
    except Exception as error:  # noqa: BLE001 - it is handed on
        words = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
        return msgspec.msgpack.encode(("raised", words))
