"""`python -m barrow.plan.worker`: one plan in a process of its own: compiled, or run.

It reads a request from the standard input and writes an `Answer` as the last line of its output.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from barrow import config
from barrow.malloc import keep_freed_memory
from barrow.parallel import fitted
from barrow.plan.predict import Plan, Subject, lower, predict_memory
from barrow.train.profile.memory import Memory
from barrow.train.program import Program, make_program
from barrow.train.run import Run

OUT_OF_MEMORY = "RESOURCE_EXHAUSTED"
# For `ask(env=…)`, where the peak of a CPU's process matters more than its time: every large piece
# goes back as soon as it is freed. By default the C library reuses pieces below 32 MiB, of which
# each thread has its own, so that the process has up to a fifth more than is in use.
GIVES_BACK = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
# Memory is decided before code is generated: without optimizations that takes a third of the time.
_QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


@dataclass(frozen=True)
class Request:
    """What a process is asked: a run, divided as its settings say, on so many devices.

    - `steps`: that it runs; 0 only compiles. `limit`: bytes above which it is out of memory,
      for devices that have no limit of their own.
    """

    run: Run
    steps: int = 0
    limit: int | None = None


@dataclass(frozen=True)
class Answer:
    """What became of a plan: `seconds` of its fastest step, and the `peak` bytes that it used.

    `busy` are seconds of the cores. `memory` is the compiler's; with `is_out_of_memory` there is
    nothing else.
    """

    memory: Memory | None = None
    seconds: float | None = None
    peak: int | None = None
    busy: float | None = None
    is_out_of_memory: bool = False


def ask(
    request: Request, *, devices: int | None = None, env: Mapping[str, str] | None = None
) -> Answer:
    """Answer a request in a new process; with `devices` on so many virtual ones of the CPU."""
    extra = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "3"}
    if devices is not None:
        flags = f"--xla_force_host_platform_device_count={devices}"  # of two, the last counts
        extra |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "barrow.plan.worker", *config.outside(request.run)],
        input=config.to_json(request),
        capture_output=True,
        text=True,
        env={**os.environ, **extra, **(env or {})},
    )
    if done.returncode == -9 or OUT_OF_MEMORY in done.stderr:  # ended by the kernel, or by XLA
        return Answer(is_out_of_memory=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise RuntimeError(f"a plan could not be tried, exit code {done.returncode}: {last}")
    return config.from_json(Answer, done.stdout.splitlines()[-1])


def answer(request: Request) -> Answer:
    """Answer a request in this process."""
    run, subject = request.run, Subject(request.run)
    plan = Plan.of(run, len(jax.devices()))
    program = make_program(run)
    is_quick = not request.steps and jax.default_backend() == "cpu"
    compiled = lower(subject, program).compile(_QUICKLY if is_quick else None)
    memory = predict_memory(subject, plan).compiled(compiled.memory_analysis())
    if request.limit is not None and memory.total > request.limit:
        raise jax.errors.JaxRuntimeError(
            f"{OUT_OF_MEMORY}: {memory.total} bytes, more than {request.limit}"
        )
    if not request.steps:
        return Answer(memory)
    batch, state = _random_batch(subject, program), program.start()
    times, before = [], 0
    for number in range(request.steps + 1):
        began = time.perf_counter(), time.process_time()
        state, metrics = compiled(state, batch)
        jax.block_until_ready((state, metrics))  # type: ignore[no-untyped-call]
        times.append((time.perf_counter() - began[0], time.process_time() - began[1]))
        if number == 0:  # what the runtime itself takes has been taken
            before = _reset_peak(state)
    seconds, busy = map(min, zip(*times[1:], strict=True))
    return Answer(memory, seconds, _peak() - before, busy)


def _random_batch(subject: Subject, program: Program) -> Any:
    rng = np.random.default_rng(0)
    vocab = min(subject.sizes.get("vocab", {2}))

    def one(name: str, shape: Any) -> Any:
        if name == "mask":
            return np.ones(shape.shape, shape.dtype)
        if name == "segments":
            return np.ones(shape.shape, shape.dtype)
        if name == "positions":
            return np.broadcast_to(np.arange(shape.shape[1], dtype=np.int32), shape.shape)
        return rng.integers(0, 255 if name == "images" else vocab, shape.shape, shape.dtype)

    rows = program.placement.rows()
    shapes = subject.batch_shapes(subject.batch)
    return {name: jax.device_put(one(name, x), fitted(rows, x.shape)) for name, x in shapes.items()}


def _reset_peak(state: Any) -> int:
    """Bytes of this process besides its state; on a CPU its peak starts again from here."""
    if jax.devices()[0].platform != "cpu":
        return 0
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back
    Path("/proc/self/clear_refs").write_text("5")
    leaves = (leaf for leaf in jax.tree.leaves(state) if leaf.ndim)
    shards = (shard for leaf in leaves for shard in leaf.addressable_shards)
    own = sum(int(shard.data.nbytes) for shard in shards)
    return _status("VmRSS") - own


def _peak() -> int:
    device = jax.local_devices()[0]
    if device.platform != "cpu":
        return int((device.memory_stats() or {})["peak_bytes_in_use"])
    return _status("VmHWM")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def main() -> None:
    """Read, answer, write; out of memory is an answer."""
    keep_freed_memory()  # as `barrow train`
    request = config.from_json(Request, sys.stdin.read(), trust=sys.argv[1:])
    try:
        found = answer(request)
    except jax.errors.JaxRuntimeError as error:
        if OUT_OF_MEMORY not in str(error):
            raise
        found = Answer(is_out_of_memory=True)
    sys.stdout.write(f"\n{json.dumps(config.to_dict(found))}\n")


if __name__ == "__main__":
    main()
