"""Seconds from the start of `barrow train` to the end of its first step, and what it waits for.

    python benchmarks/bench_start.py STORE [--recipe gpt2.small] [KEY=VALUE …]

The verb's own path without its parsing, twice: with an empty folder for compiled programs, and with
what the first left there. Each is a process of its own. In each phase, what JAX spends on tracing,
lowering and compiling is shown apart.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

BEGAN = time.perf_counter()
PARTS = {"jaxpr_trace": "trace", "jaxpr_to_mlir_module": "lower", "backend_compile": "compile"}


class FirstStepDone(Exception):
    """Ends the run."""


class Phases:
    """Seconds by phase, and within each by what JAX did."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.parts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self.current = "between"

    def listen(self, event: str, seconds: float, **_: Any) -> None:
        """A duration that JAX reports."""
        for part, name in PARTS.items():
            if part in event:
                self.parts[self.current][name] += seconds

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        before, self.current = self.current, name
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
            self.current = before

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.phase(name):
                return function(*args, **kwargs)

        return call


def start(recipe: str, store: str, changes: list[str], out: str, cache: str) -> dict[str, Any]:
    """Seconds of each phase of a run's start."""
    phases = Phases()
    with phases.phase("import jax"):
        import jax

        jax.monitoring.register_event_duration_secs_listener(phases.listen)
    with phases.phase("import barrow"):
        import importlib

        from barrow import config
        from barrow.models.compile_cache import keep_compiled
        from barrow.plan import planned

        fitting = importlib.import_module("barrow.train.fit")
        part, _, size = recipe.partition(".")
        run = importlib.import_module(f"barrow.recipes.{part}").RUNS[size]()
    keep_compiled(cache)
    run = config.override(replace(run, store=store), changes)
    with phases.phase("devices"):
        jax.devices()
    with phases.phase("plan"):
        said: list[str] = []
        run = planned(run, Path(out), write=said.append, is_given=False, is_fixed=False)
    fitting.opened = phases.timed("data", fitting.opened)
    make = fitting.make_program

    def make_program(*args: Any) -> Any:
        with phases.phase("program"):
            made = make(*args)

        def begin(*args: Any) -> Any:
            with phases.phase("parameters"):
                return jax.block_until_ready(made.start(*args))

        def advance(state: Any, batch: Any) -> Any:
            with phases.phase("first step"):
                jax.block_until_ready(made.advance(state, batch))
            raise FirstStepDone

        advance.prepare = made.advance.prepare  # type: ignore[attr-defined]
        return replace(made, start=begin, advance=advance)

    fitting.make_program = make_program
    with phases.phase("rest of fit"), suppress(FirstStepDone):
        fitting.fit(run, out)
    inner = ("data", "program", "parameters", "first step")
    phases.seconds["rest of fit"] -= sum(phases.seconds.get(name, 0.0) for name in inner)
    return {
        "all": time.perf_counter() - BEGAN,
        "seconds": phases.seconds,
        "parts": phases.parts,
        "plan": said,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store")
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE")
    parser.add_argument("--recipe", default="gpt2.small")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        out = tempfile.mkdtemp()
        print(json.dumps(start(args.recipe, args.store, args.changes, out, args.one)), flush=True)
        os._exit(0)  # threads that read ahead are not waited for
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    found = {}
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            command = [sys.executable, __file__, args.store, *args.changes]
            command += ["--recipe", args.recipe, "--one", cache]
            began = time.perf_counter()
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr[-3000:])
            found[name] = json.loads(done.stdout.splitlines()[-1])
            found[name]["all"] = time.perf_counter() - began
        size = sum(file.stat().st_size for file in Path(cache).rglob("*") if file.is_file())
    print(found["cold"]["plan"])
    print(f"{'':14} {'cold':>7} {'warm':>7}   within it, cold and warm")
    for phase in found["cold"]["seconds"]:
        seconds = "".join(f" {one['seconds'].get(phase, 0):7.2f}" for one in found.values())
        within = "; ".join(
            ", ".join(f"{name} {s:.2f}" for name, s in one["parts"].get(phase, {}).items())
            for one in found.values()
        )
        print(f"{phase:14}{seconds}   {within}")
    print(f"{'all':14} {found['cold']['all']:7.2f} {found['warm']['all']:7.2f}")
    print(f"compiled programs: {size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
