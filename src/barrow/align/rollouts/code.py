"""A reward of code: the tests of a record are run on what the model wrote."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.align.rollouts.confined import UNABLE
from barrow.errors import BarrowError
from barrow.files import write_part

_SCRIPT = Path(__file__).with_name("confined.py")
_PATIENCE = 10.0
_FENCE = re.compile(r"```(?:python|py)?\n(.*?)(?:```|\Z)", re.S)


class CannotConfine(BarrowError):
    """The machine cannot limit what code does."""


@dataclass(frozen=True)
class UnitTests:
    """1 if the record's tests pass after the answer's code, within the limits; else 0.

    The code is that between the first ``` and the next, or the whole answer.

    - `key`: of the tests in the record: Python that raises where the code is wrong.
    - `seconds`: of time and of processor time; `megabytes`: of memory, and of each file.
    - `processes`: at a time; `output`: characters that may be written to the terminal.
    """

    key: str = "tests"
    seconds: float = 5.0
    megabytes: int = 512
    processes: int = 16
    output: int = 1 << 16

    runs_code = True

    def __call__(self, prompt: str, answer: str, record: Mapping[str, Any]) -> float:
        """See `Reward`."""
        del prompt
        if self.key not in record:
            raise KeyError(f"the record has no {self.key!r}; it has {', '.join(record)}")
        found = _FENCE.search(answer)
        code = answer if found is None else found[1]
        return float(self.run(f"{code}\n{record[self.key]}\n") == 0)

    def run(self, code: str) -> int | None:
        """The exit code of a program; None where it was stopped by time or output."""
        with tempfile.TemporaryDirectory(prefix="barrow-code-") as folder:
            file = Path(folder, "answer.py")
            write_part(file, code.encode(errors="replace"))
            limits = map(str, (self.seconds, self.megabytes << 20, self.processes))
            process = subprocess.Popen(  # noqa: S603 - limits are what the script is for
                [sys.executable, "-I", str(_SCRIPT), folder, str(file), *limits],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                said = self._read(process)
                # Whoever closed its output may still run.
                code_of = None if said is None else process.wait(self.seconds)
            except subprocess.TimeoutExpired:
                code_of = None
            finally:
                _kill(process)
        if code_of == UNABLE:
            assert said is not None
            raise CannotConfine(
                "code cannot be run here without network and outside writes: "
                + said.decode(errors="replace").strip()
                + " (needs Linux with user namespaces and Landlock)"
            )
        return code_of

    def _read(self, process: subprocess.Popen[bytes]) -> bytes | None:
        """What it writes until it ends; None where that takes too long, or is too much."""
        pipe, said = process.stdout, b""
        assert pipe is not None
        end = time.monotonic() + self.seconds
        with selectors.DefaultSelector() as wait:
            wait.register(pipe, selectors.EVENT_READ)
            while (left := end - time.monotonic()) > 0:
                if not wait.select(left):
                    return None
                piece = os.read(pipe.fileno(), 1 << 16)
                if not piece:
                    return said
                said += piece
                if len(said) > self.output:
                    return None
        return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End it with all that it started; its group too, if it does not answer."""
    assert process.stdout is not None
    process.stdout.close()
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
