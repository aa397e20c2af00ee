"""Start the processes of a program on this machine or on hosts; stop all when one fails."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import random
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from barrow.errors import BarrowError, ConfigError
from barrow.interrupt import check_interrupt

_TOGETHER = 0.5  # seconds in which failures count as one, so that the first cause is found
_STOP = 4.0  # seconds that the others have to end
_KEPT = 400  # lines that are kept of a failed process
_PASSED_ON = ("HF_", "JAX_", "XLA_", "BARROW_", "TF_CPP_", "PYTHONPATH", "OMP_", "NCCL_", "CUDA_")
_SIGNALS = 128

Write = Callable[[str], object]


class Failed(BarrowError):
    """A process failed; the others were stopped. `code` is its exit code."""

    def __init__(self, message: str, *, code: int) -> None:
        self.code = code
        super().__init__(message)


@dataclass
class _Worker:
    rank: int
    host: str
    process: subprocess.Popen[bytes]
    lines: list[str] = field(default_factory=list)  # since a traceback began
    ended: float | None = None
    code: int | None = None

    def stop(self) -> None:
        """End of input: the guard stops the command."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()


def launch(
    command: Sequence[str],
    *,
    num: int,
    hosts: Sequence[str] = (),
    port: int | None = None,
    ssh: str = "ssh",
    python: str = sys.executable,
    write: Write = sys.stderr.write,
) -> None:
    """Run a command of Python's `num` times, as processes that find each other.

    `command` are the arguments of `python`. Lines of others than process 0 begin with their
    number. If one fails, the others are stopped, its last words are written first, and `Failed` is
    raised. Ctrl-C stops all.
    """
    if num < 1:
        raise ConfigError(f"-n must be ≥ 1, got {num}")
    if hosts and num % len(hosts):
        raise ConfigError(f"-n must be a multiple of the {len(hosts)} hosts, got {num}")
    places = [host for host in hosts for _ in range(num // len(hosts))] or [""] * num
    address = _address(places, port)
    said: queue.Queue[tuple[_Worker, str, bytes]] = queue.Queue()
    workers: list[_Worker] = []
    try:
        for rank, host in enumerate(places):
            same = [other for other in range(num) if places[other] == host]
            variables = {
                "BARROW_ADDRESS": address,
                "BARROW_PROCESSES": str(num),
                "BARROW_PROCESS": str(rank),
                "BARROW_LOCAL_PROCESS": str(same.index(rank)),
                "BARROW_LOCAL_PROCESSES": str(len(same)),
                "PYTHONUNBUFFERED": "1",
            }
            workers.append(_start(rank, host, command, variables, ssh=ssh, python=python))
        for worker in workers:
            _read(worker, said)
        _follow(workers, said, write)
    finally:
        _stop(workers)


def _address(places: Sequence[str], port: int | None) -> str:
    """Where the first process listens; the others must reach it, so not at 127.0.0.1 of theirs."""
    names = [host.rpartition("@")[2] for host in places]
    is_here = [name in ("", "localhost") or name.startswith("127.") for name in names]
    if not is_here[0]:
        return f"{names[0]}:{port or random.SystemRandom().randrange(20_000, 60_000)}"
    with socket.socket() as found:
        try:
            found.bind(("", port or 0))
        except OSError:
            raise ConfigError(
                f"port {port} is in use on this machine; leave --port out, or pass another"
            ) from None
        name = "127.0.0.1" if all(is_here) else socket.getfqdn()
        return f"{name}:{found.getsockname()[1]}"


def _start(
    rank: int,
    host: str,
    command: Sequence[str],
    variables: dict[str, str],
    *,
    ssh: str,
    python: str,
) -> _Worker:
    """A guard, here or through ssh, that starts the command."""
    from barrow.launch import guard

    if host:
        options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
        starting = [*shlex.split(ssh), *options, host, shlex.join([python, "-m", guard.__name__])]
        mine = {n: v for n, v in os.environ.items() if n.startswith(_PASSED_ON)}
        variables = mine | variables
        if "PYTHONPATH" in mine:
            starting[-1] = f"PYTHONPATH={shlex.quote(mine['PYTHONPATH'])} {starting[-1]}"
    else:
        starting = [python, str(guard.__file__)]
    process = subprocess.Popen(  # noqa: S603 - the user names hosts and interpreter
        starting,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches this process alone
    )
    is_script = command[0].endswith(".py")
    run = ["-m", "barrow.launch.script"] if is_script else []
    job = {"command": [python, *run, *command], "folder": str(Path.cwd()), "variables": variables}
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # a guard that could not start is noticed by its exit
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.flush()
    return _Worker(rank, host, process)


def _read(worker: _Worker, said: queue.Queue[tuple[_Worker, str, bytes]]) -> None:
    """Threads that put the lines of a worker, and then its end, into a queue."""

    def lines(stream: IO[bytes], name: str) -> None:
        with stream:
            for line in stream:
                said.put((worker, name, line))

    def wait(readers: list[threading.Thread]) -> None:
        worker.process.wait()
        for reader in readers:
            reader.join(1.0)  # something that it started may still hold the pipe
        said.put((worker, "end", b""))

    assert worker.process.stdout is not None
    assert worker.process.stderr is not None
    streams = ((worker.process.stdout, "out"), (worker.process.stderr, "err"))
    readers = [threading.Thread(target=lines, args=one, daemon=True) for one in streams]
    for reader in readers:
        reader.start()
    threading.Thread(target=wait, args=(readers,), daemon=True).start()


def _follow(
    workers: list[_Worker], said: queue.Queue[tuple[_Worker, str, bytes]], write: Write
) -> None:
    """Pass lines on until all have ended; raise `Failed` if one did not end well."""
    until: float | None = None
    while any(worker.code is None for worker in workers):
        check_interrupt()
        try:
            worker, stream, line = said.get(timeout=None if until is None else 0.1)
        except queue.Empty:
            pass
        else:
            if stream == "end":
                worker.code, worker.ended = worker.process.returncode, time.monotonic()
                if worker.code and until is None:
                    until = worker.ended + _TOGETHER
            else:
                _pass_on(worker, stream, line.decode(errors="replace"), write)
        if until is not None and time.monotonic() >= until:
            break
    failed = [worker for worker in workers if worker.code]
    if not failed:
        return
    # Who only heard of another's failure is not the first cause.
    failed.sort(key=lambda worker: ("PeerFailed" in "".join(worker.lines), worker.ended))
    _stop(workers)
    for worker in failed:
        for kept in worker.lines:
            write(f"[{worker.rank}] {kept}")
    first = failed[0]
    assert first.code is not None
    raise Failed(_words(first, len(workers)), code=first.code)


def _pass_on(worker: _Worker, stream: str, line: str, write: Write) -> None:
    """A traceback waits until it is known who failed first; all else is written."""
    if stream == "err" and (worker.lines or line.startswith("Traceback (most recent")):
        worker.lines = [*worker.lines[-_KEPT:], line]
    elif stream == "out" and not worker.rank:
        sys.stdout.write(line)
        sys.stdout.flush()
    else:
        write(line if not worker.rank else f"[{worker.rank}] {line}")


def _stop(workers: list[_Worker]) -> None:
    """Stop all within seconds."""
    for worker in workers:
        worker.stop()
    end = time.monotonic() + _STOP
    for worker in workers:
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.process.wait(max(0.01, end - time.monotonic()))
        if worker.process.poll() is None:
            worker.process.kill()
            worker.process.wait()


def _words(worker: _Worker, num: int) -> str:
    where = f" on {worker.host}" if worker.host else ""
    who = f"process {worker.rank} of {num}{where}"
    code = worker.code or 0
    if worker.host and code == 255:
        return f"{who} could not be reached by ssh, or the connection was lost; all were stopped"
    number = -code if code < 0 else code - _SIGNALS
    if number in signal.valid_signals():
        name = signal.Signals(number).name
        often = "; the system kills so where memory is short" if name == "SIGKILL" else ""
        return f"{who} was ended by {name}{often}; all others were stopped"
    return f"{who} failed with exit code {code}; all others were stopped"
