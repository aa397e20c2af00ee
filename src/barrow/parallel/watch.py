"""A collective that only some processes reach ends in an error that names each, not in a hang.

Every process says where it is: `call` is around what needs the others, `busy` around long work of
its own. A thread of each posts that to the store of JAX's coordination service, and the thread of
the first process compares. With one process nothing is done.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import jax

from barrow.errors import ConfigError

_LONG = 600.0
_RECENT = 8  # calls that a process remembers, to be compared by their number
_KEY = "barrow/watch"
_JAX = str(Path(jax.__file__).parent)
_OURS = (_JAX, str(Path(__file__).parents[1]), str(Path(os.__file__).parent))
# Files of JAX in which a thread is while it traces, lowers or compiles.
_COMPILING = ("jax/_src/compiler.py", "interpreters/mlir.py", "interpreters/partial_eval.py")

State = Literal["starting", "in", "busy", "compiling", "outside", "waits", "finished"]
_FINISHED: tuple[State, str, str, float] = ("finished", "", "", 0.0)


@dataclass(frozen=True)
class Limits:
    """Seconds: `apart`, how long some may wait for one that is elsewhere; `nap`, between checks."""

    apart: float = 20.0
    nap: float = 1.0


@dataclass(frozen=True)
class Record:
    """Where a process is: in its call number `calls`, or after it.

    It had been there for `age` seconds by its own clock when it said so, and may stay for `limit`
    while others wait. `recent` has the names of the last calls by their number.
    """

    state: State = "starting"
    name: str = ""
    site: str = ""
    calls: int = 0
    age: float = 0.0
    limit: float = _LONG
    recent: dict[str, str] = field(default_factory=dict)


def call(name: str, *, step: int | None = None) -> AbstractContextManager[None]:
    """Around what every process must reach: a step, a gather, a save.

    All enter the same calls in the same order. When some have waited in one for 20 s, and another
    has not come, all processes end. One that is in an earlier call or `busy` has 600 s; one that
    compiles has no limit.
    """
    return _at("in", name if step is None else f"{name} {step}", _LONG)


def busy(what: str, *, limit: float = _LONG) -> AbstractContextManager[None]:
    """Around work of this process for which others may wait `limit` seconds, such as loading."""
    return _at("busy", what, limit)


def begin(limits: Limits | None = None) -> None:
    """Start to watch, if there are several processes; `BARROW_WATCH` sets `apart` (0: no limit)."""
    from jax._src import distributed  # see `processes.open_peers`

    global _running
    state = distributed.global_state
    if state.client is None or state.num_processes == 1:
        return
    if _running is None:
        given = os.environ.get("BARROW_WATCH", str(Limits.apart))
        if not given.replace(".", "", 1).isdigit():
            raise ConfigError(f"BARROW_WATCH must be seconds ≥ 0, got {given!r}")
        apart = float(given) or math.inf
        _running = _Watch(state.client, state.process_id, state.num_processes, Limits(apart))
        atexit.register(finish)
        _running.posting = threading.Thread(target=_running.run, name="barrow-watch", daemon=True)
        _running.posting.start()
    if limits is not None:
        _running.limits = limits


def finish() -> None:
    """Say that this process enters no more calls."""
    if _running is not None and _running.stack[-1:] != [_FINISHED]:
        _running.stack.append(_FINISHED)
        _running.changes += 1
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            _running.post()
            _running.client.key_value_set(f"{_KEY}/finished/{_running.process}", "")


def wait_for_all() -> None:
    """Return when all have finished, however long that takes; JAX waits five minutes at its end.

    The thread ends too: Python aborts one that is inside of a library when the process ends.
    """
    finish()
    if _running is None:
        return
    waiting = [f"{_KEY}/finished/{number}" for number in range(_running.num)]
    while waiting:
        try:
            _running.client.blocking_key_value_get(waiting[-1], 10_000)
            waiting.pop()
        except jax.errors.JaxRuntimeError as error:
            if "DEADLINE_EXCEEDED" not in str(error):  # the service is gone
                break
    _running.left.set()
    if _running.posting is not None:
        _running.posting.join(10 * _running.limits.nap)


def verdict(records: Sequence[Record], *, apart: float) -> str | None:
    """What is wrong with where the processes are; None if all may be well."""
    still = [record for record in records if record.age > apart]
    waiting = [record for record in still if record.state in ("in", "waits")]
    last = max((record.calls for record in waiting), default=0)
    is_missing = any(one.calls < last and one.age > one.limit for one in records)
    names: dict[str, set[str]] = {}
    for record in still:
        for number, name in record.recent.items():
            names.setdefault(number, set()).add(name)
    if not waiting or not (is_missing or any(len(some) > 1 for some in names.values())):
        return None
    lines = []
    for process, record in enumerate(records):
        after = record.recent.get(str(record.calls))
        where = {
            "starting": "has not reached a call",
            "in": f"waits in {record.name}",
            "busy": f"is busy with {record.name}",
            "compiling": "compiles" + (f" in {record.name}" if record.name else ""),
            "outside": f"is outside of any call, after {after}",
            "waits": f"waits for devices, after {after}",
            "finished": f"has finished, after {after or 'no call'}",
        }[record.state]
        at = f", at {record.site}" if record.site else ""
        lines.append(f"  process {process} {where}{at}, for {record.age:.0f} s")
    return (
        "some processes wait in a call that others do not reach; all are ended:\n"
        + "\n".join(lines)
        + "\nEvery process must enter the same calls in the same order; put long work of one into "
        "`watch.busy`."
    )


@dataclass
class _Watch:
    client: Any
    process: int
    num: int
    limits: Limits
    stack: list[tuple[State, str, str, float]] = field(default_factory=list)
    calls: int = 0
    changes: int = 0
    recent: dict[str, str] = field(default_factory=dict)
    thread: int = field(default_factory=threading.get_ident)
    ticks: int = 0
    began: float = field(default_factory=time.monotonic)
    since: tuple[Any, float] = ((), 0.0)
    left: threading.Event = field(default_factory=threading.Event)
    posting: threading.Thread | None = None

    @contextlib.contextmanager
    def at(self, state: State, name: str, limit: float, site: str) -> Iterator[None]:
        self.thread = threading.get_ident()
        if state == "in":
            around = [entry[1] for entry in self.stack if entry[0] == "in"]
            name = " of ".join([name, *around[-1:]])
            self.calls += 1
            self.recent[str(self.calls)] = name
            self.recent.pop(str(self.calls - _RECENT), None)
        entry = (state, name, site, limit)
        self.stack.append(entry)
        self.changes += 1
        try:
            yield
        finally:
            self.stack.remove(entry)  # a generator may leave after what it was entered before
            self.changes += 1

    def post(self) -> None:
        """Say where this process is."""
        first: State = "outside" if self.changes else "starting"
        nowhere = (first, "", "", self.limits.apart if self.changes else _LONG)
        state, name, site, limit = self.stack[-1] if self.stack else nowhere
        frame = sys._current_frames().get(self.thread)
        files = [one.f_code.co_filename for one, _ in traceback.walk_stack(frame)] if frame else []
        if any(file.endswith(_COMPILING) for file in files):
            state, limit = "compiling", math.inf
        elif state == "outside" and files and files[0].startswith(_JAX):
            state, limit = "waits", _LONG
        if frame is not None and not self.stack:
            site = _site(frame)
        # What compiles, or is not scheduled, does not age.
        if self.since[0] != (state, self.changes):
            self.since = ((state, self.changes), time.monotonic())
        age = time.monotonic() - self.since[1]
        record = Record(state, name, site, self.calls, age, limit, dict(self.recent))
        words = json.dumps(asdict(record))
        self.client.key_value_set(f"{_KEY}/at/{self.process}", words, allow_overwrite=True)

    def run(self) -> None:
        """Post and compare until all have finished."""
        with contextlib.suppress(jax.errors.JaxRuntimeError):  # JAX ends who has no service
            while not self.left.is_set():
                self.post()
                if self.process == 0 and (found := self.check()) is not None:
                    sys.stdout.flush()
                    sys.stderr.write(f"barrow: {found}\n")
                    sys.stderr.flush()
                    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # errors that follow from it
                    self.client.key_value_set(f"{_KEY}/end/0", "")
                    time.sleep(2 * self.limits.nap)  # the service is here: the others come first
                    os._exit(1)
                if self.client.key_value_dir_get(f"{_KEY}/end/"):
                    os._exit(1)
                self.ticks += 1
                self.left.wait(self.limits.nap)

    def check(self) -> str | None:
        """The verdict about all."""
        posted = self.client.key_value_dir_get(f"{_KEY}/at/")
        known = {int(key.rpartition("/")[2]): json.loads(words) for key, words in posted}
        missing = {"age": time.monotonic() - self.began}
        records = [Record(**known.get(number, missing)) for number in range(self.num)]
        return verdict(records, apart=self.limits.apart)


_running: _Watch | None = None


def _at(state: State, name: str, limit: float) -> AbstractContextManager[None]:
    if _running is None:
        begin()
    if _running is None:
        return nullcontext()
    return _running.at(state, name, limit, _site(sys._getframe(2)))


def _site(frame: FrameType) -> str:
    """The line of the innermost code that is not of barrow, JAX or Python."""
    places = [(one.f_code.co_filename, line) for one, line in traceback.walk_stack(frame)]
    file, line = next((at for at in places if not at[0].startswith(_OURS)), places[0])
    return f"{file}:{line}"
