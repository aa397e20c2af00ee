"""The processes of a run: how they act together, agree, stop and fail.

They communicate through the key-value store of JAX's coordination service, not through collectives
of devices. Collectives need all processes at the same time, and from a background thread they could
fall between those of the step, in a different order in each process. Devices of several processes
also wait for each other without end, so a failure must reach the others in another way.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax

from barrow.errors import ConfigError, PeerFailed
from barrow.parallel import watch

# A process that asks after step k has read the loss of step k − 1, which needed all processes. So
# when one requests a stop after step k, the others have done step k + 1 at most, and see the
# request when they ask after step k + 2.
_AHEAD = 2
# Words in JAX errors about the network between processes.
_NETWORK = ("Gloo", "NCCL", "UNAVAILABLE", "closed by peer", "reset by peer")


@dataclass
class Peers:
    """The processes of a run as one of them sees them. A single process has no `client`.

    `name` is the same in all. Seconds: `timeout` to wait for another process (it may still be
    opening its data), `nap` between two checks for a failure, `grace` to end after another has
    failed. A lost service is an error of JAX (`jax.errors.JaxRuntimeError`).
    """

    client: Any = None
    name: str = ""
    process: int = 0
    num: int = 1
    timeout: float = 600.0
    nap: float = 0.5
    grace: float = 20.0
    _last: int | None = field(default=None, init=False, compare=False)

    def lead(self, name: str, action: Callable[[], None]) -> None:
        """Let process 0 act; return in every process when it is done, or raise in every one."""
        if self.num == 1:
            action()
        elif self.process:
            self._expect(f"{name}/lead", 0)
        else:
            error = _failure(action)
            self._report(f"{name}/lead", error)
            if error is not None:
                raise error

    def everyone(self, name: str, action: Callable[[], object]) -> None:
        """Act in every process; return in each when all are done, or raise in each."""
        if self.num == 1:
            action()
            return
        error = _failure(action)
        if self.process == 0:
            try:
                for other in range(1, self.num):
                    self._expect(f"{name}/{other}", other)
            except PeerFailed as failed:
                error = error or failed
            self._report(f"{name}/all", error)
        else:
            self._report(f"{name}/{self.process}", error)
            if error is None:
                self._expect(f"{name}/all", 0)
        if error is not None:
            raise error

    def agree(self, name: str, words: Mapping[str, Any]) -> None:
        """Return when all have called this with the same words; `ConfigError` in all if not."""
        if self.num == 1:
            return
        self.tell(f"{name}/{self.process}", words)
        if self.process == 0:
            values = [self.wait(f"{name}/{n}", n) for n in range(self.num)]
            self.tell(f"{name}/verdict", _differences(values))
        verdict = self.wait(f"{name}/verdict", 0)
        if verdict:
            raise ConfigError(verdict)

    def stops(self, step: int, *, is_asked: bool) -> bool:
        """Whether all stop after this step; `is_asked` is whether this process was asked to.

        Called after every step, when the previous loss was read. A scheduler's signal reaches
        processes at different steps, or only one of them.
        """
        if self.num == 1:
            return is_asked
        if self._last is None and is_asked:
            self.tell("last", step + _AHEAD)  # unless another process was asked first
        if self._last is None:
            self._last = self.look("last")
        return self._last is not None and step >= self._last

    def fail(self, reason: str) -> None:
        """Tell the others why this process cannot continue; the first failure counts."""
        with contextlib.suppress(jax.errors.JaxRuntimeError):  # no other process is left
            self.tell("failed", reason)

    def failure(self) -> str | None:
        """The message of the first process that failed; None if none has."""
        found: str | None = self.look("failed")
        return found

    @contextlib.contextmanager
    def watched(
        self,
        *,
        shared: tuple[type[BaseException], ...] = (),
        end: Callable[[str], None] | None = None,
    ) -> Iterator[Peers]:
        """Inside, errors are reported to the others, and their failures are noticed.

        `shared` are errors that all processes raise by themselves. `end` is called in a process
        that cannot leave after a failure because it waits for devices; by default it exits.
        """
        if self.num == 1:
            yield self
            return
        by_all: tuple[type[BaseException], ...] = (*shared, PeerFailed)
        left = threading.Event()

        def listen() -> None:
            while not left.wait(self.nap):
                try:
                    reason = self.failure()
                except jax.errors.JaxRuntimeError:  # the service is gone, and JAX ends this process
                    return
                if reason is not None:
                    if not left.wait(self.grace):
                        (end or _end)(reason)
                    return

        listener = threading.Thread(target=listen, name="barrow-peers", daemon=True)
        listener.start()
        try:
            yield self
        except by_all:
            raise
        except BaseException as error:
            lost = _lost(error)
            reason = f"process {self.process} {lost or f'failed: {type(error).__name__}: {error}'}"
            self.fail(reason)
            if lost is None:
                raise
            with contextlib.suppress(jax.errors.JaxRuntimeError):
                reason = self.failure() or reason  # that of the first
            raise PeerFailed(reason) from error
        finally:
            left.set()
            listener.join()  # where it has begun to end the process, nothing else may

    def tell(self, key: str, words: Any) -> bool:
        """Set a value once: any JSON but null; False if it was already set."""
        try:
            self.client.key_value_set(f"{self.name}/{key}", json.dumps(words))
        except jax.errors.JaxRuntimeError as error:
            if "ALREADY_EXISTS" not in str(error):
                raise
            return False
        return True

    def look(self, key: str) -> Any:
        """The value; None if not set."""
        try:
            return json.loads(self.client.key_value_try_get(f"{self.name}/{key}"))
        except jax.errors.JaxRuntimeError as error:
            if "NOT_FOUND" not in str(error):
                raise
            return None

    def wait(self, key: str, process: int) -> Any:
        """The value of a process; `PeerFailed` if one fails first, or the time is over."""
        milliseconds = max(1, int(min(self.nap, self.timeout) * 1000))
        for _ in range(max(1, round(self.timeout / self.nap))):
            with contextlib.suppress(jax.errors.JaxRuntimeError):
                return json.loads(
                    self.client.blocking_key_value_get(f"{self.name}/{key}", milliseconds)
                )
            failure, words = self.failure(), self.look(key)
            if words is not None:  # a value set before a failure counts
                return words
            if failure is not None:
                raise PeerFailed(failure)
        raise PeerFailed(
            f"no answer from process {process} in {self.timeout:g} s ({key}); did it stop, "
            "or was it started with other settings?"
        )

    def _report(self, key: str, error: Exception | None) -> None:
        self.tell(key, "" if error is None else f"{type(error).__name__}: {error}")

    def _expect(self, key: str, process: int) -> None:
        words = self.wait(key, process)
        if words:
            raise PeerFailed(f"process {process} failed: {words}")


def open_peers(subject: str, *, timeout: float = 600.0) -> Peers:
    """The processes of this run, for one subject.

    Every process must open it equally often: each counts, and equal numbers belong together.
    """
    # JAX has no public way to its store (0.10: jax.distributed is initialize, is_initialized and
    # shutdown; jax.experimental.multihost_utils runs collectives). jax.process_count() would wait
    # for the devices of all.
    from jax._src import distributed

    state = distributed.global_state
    if state.client is None or state.num_processes == 1:
        return Peers()
    client: Any = state.client
    number = client.key_value_increment(f"barrow/{subject}/opened-by-{state.process_id}", 1)
    name = f"barrow/{subject}/{number}"
    return Peers(client, name, state.process_id, state.num_processes, timeout)


@dataclass
class Together:
    """A function of `jax.jit` that no process runs before all have compiled it.

    Gloo connects the CPUs of processes in the first program that sends something between them, and
    gives up when one comes 30 s after another. Compiling may take longer in one than in another.
    """

    jitted: Any
    is_ready: bool = False

    def __call__(self, *given: Any) -> Any:
        """The result."""
        if not self.is_ready:
            peers = open_peers("program", timeout=3600)
            if peers.num > 1:
                peers.everyone("compiled", lambda: self.jitted.lower(*given).compile())
            self.is_ready = True
        return self.jitted(*given)

    def lower(self, *given: Any) -> Any:
        """The program for such arguments, not compiled."""
        return self.jitted.lower(*given)


def _failure(action: Callable[[], object]) -> Exception | None:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - whatever it is, the others must hear of it
        return error
    return None


def _end(reason: str) -> None:
    """End this process, even if other threads wait."""
    sys.stdout.flush()
    sys.stderr.write(f"barrow: {reason}; this process cannot continue without it and exits\n")
    sys.stderr.flush()
    watch.finish()
    # All that end meet here or at exit; one that just left would be taken for dead.
    jax.distributed.shutdown()
    os._exit(1)


def _lost(error: BaseException) -> str | None:
    """The message if an error of JAX is about another process, not about this one."""
    if not isinstance(error, jax.errors.JaxRuntimeError):
        return None
    cause = str(error).strip().partition("\n")[0]
    if not any(word in cause for word in _NETWORK):
        return None
    return (
        f"cannot reach the devices of another process; did it stop? ({cause[:200]}). To "
        "resume from the newest checkpoint, start all processes again"
    )


def _differences(values: list[Any]) -> str:
    """The words in which others differ from the first; empty if none do."""
    parts = []
    for number, words in enumerate(values[1:], 1):
        other = [
            f"{key}: {words.get(key)!r}, the first {values[0].get(key)!r}"
            for key in dict.fromkeys([*values[0], *words])
            if words.get(key) != values[0].get(key)
        ]
        if other:
            parts.append(f"process {number} has other settings than the first ({'; '.join(other)})")
    return "; ".join(parts) and "; ".join(parts) + ": start all processes with the same"
