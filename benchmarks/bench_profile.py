"""The profile of a GPT-2-small step of 8 × 1024 tokens, beside other sources of the same numbers.

    python benchmarks/bench_profile.py [--gpu] [--out DIR] [--steps 10]

Without `--gpu`, a small model. It prints the parts of the step and their sum against Python's
clock; FLOPs against the analytic count and, where it gives one, the compiler's own of an unrolled
step; memory by kind against the runtime's peak; the last line of the log; modules and operations.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Ids:
    """Random ids, made before."""

    rows: int
    length: int
    vocab: int
    num_steps: int | None = None
    validation: None = None

    def batch(self, step: int) -> dict[str, Any]:
        ids = np.random.default_rng(step).integers(0, self.vocab, (self.rows, self.length + 1))
        ids = ids.astype(np.int32)
        places = np.tile(np.arange(self.length, dtype=np.int32), (self.rows, 1))
        mask = np.ones(places.shape, np.float32)
        found = {"tokens": ids[:, :-1], "targets": ids[:, 1:], "mask": mask}
        return found | {"positions": places, "segments": np.zeros_like(places)}


def described(is_gpu: bool, steps: int, *, unroll: bool = False) -> Any:
    from barrow.models.decoder.model import DecoderConfig
    from barrow.train import Run, StepSettings
    from barrow.train.precision import Precision

    if is_gpu:
        model = DecoderConfig(
            vocab_size=50304, width=768, layers=12, heads=12, hidden=3072, context=1024
        )
        data, precision = Ids(8, 1024, 50304), Precision("bf16")
    else:
        model = DecoderConfig(vocab_size=256, width=64, layers=2, heads=4, hidden=128, context=64)
        data, precision = Ids(8, 64, 256), Precision("fp32")
    return Run(
        model=model,
        data=data,
        steps=steps,
        step=StepSettings(precision),
        mask_documents=False,
        unroll=unroll,
        diverged=None,
    )


def analytic(run: Any, *, is_fused: bool) -> float:
    """Forward and backward: 3 · tokens · (2 · weights + 4 · T · d for each layer).

    The fused kernel computes one product of attention again: 14 instead of 12 · T · d.
    """
    model, data = run.model, run.data
    weights = model.layers * (4 * model.width**2 + 2 * model.width * model.hidden)
    weights += model.width * model.vocab_size
    attention = model.layers * (14 if is_fused else 12) * data.length * model.width
    return float(data.rows * data.length * (6 * weights + attention))


def compiler_count(run: Any) -> float | None:
    """Of an unrolled step: the compiler counts the body of a loop once."""
    from barrow.train.program import make_program

    program = make_program(run)
    lowered = program.advance.lower(program.shapes, run.data.batch(0))
    found = lowered.cost_analysis() or {}
    return found.get("flops")


def seen(folder: Path) -> None:
    """What the trace has: lines of the devices, and the longest events with their statistics."""
    import jax

    for path in folder.rglob("*.xplane.pb"):
        for plane in jax.profiler.ProfileData.from_file(str(path)).planes:
            for line in plane.lines:
                events = sorted(line.events, key=lambda event: -event.duration_ns)
                print(f"{plane.name} | {line.name}: {len(events)} events")
                for event in events[: 4 if plane.name.startswith("/device") else 1]:
                    stats = {key: str(value)[:60] for key, value in event.stats}
                    print(f"    {event.name[:70]} {event.duration_ns / 1e3:.1f} µs {stats}")


def sequence(operations: Any, program: str) -> None:
    """Kernels of one step in their order, with the operations they are taken for."""
    from barrow.train.profile.kernels import named
    from barrow.train.profile.operations import origins

    ran, known = sorted(operations, key=lambda one: one.start), origins(program)
    for before, after in list(zip(ran, named(ran, program), strict=True))[: len(ran) // 10]:
        took, module = 1e6 * (before.end - before.start), known.get(after.name)
        print(f"  {before.name[:60]:62} {took:8.1f} µs {after.name} {module or ''}")
    lines = [line for line in program.splitlines() if "custom_call_target" in line]
    print("custom calls:", *(line.strip()[:160] for line in lines[:60]), sep="\n  ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--raw", action="store_true", help="show what the trace has")
    args = parser.parse_args()

    import jax

    from barrow.train import fit
    from barrow.train.profile import Profile, profiler
    from barrow.train.trackers import read_log

    if args.raw:
        read = profiler.read_trace
        profiler.read_trace = lambda folder: seen(folder) or read(folder)  # type: ignore[func-returns-value]
        known = profiler.named
        profiler.named = lambda ran, text: sequence(ran, text) or known(ran, text)  # type: ignore[func-returns-value]
    out = args.out or Path(tempfile.mkdtemp(prefix="bench-profile-"))
    device = jax.devices()[0]
    print(f"jax {jax.__version__}, {len(jax.devices())} × {device.device_kind}")
    run = described(args.gpu, 30 + args.steps)
    begun = time.perf_counter()
    fit(run, out, profile=Profile(steps=args.steps))
    print(f"run of {run.steps} steps: {time.perf_counter() - begun:.1f} s")
    report = json.loads((out / "profile.json").read_text())
    whole = report["step_seconds"]
    print(f"step: {1000 * whole:.2f} ms, {1000 * report['untraced_step_seconds']:.2f} untraced")
    for kind, seconds in report["split"].items():
        print(f"  {kind:14} {1000 * seconds:9.3f} ms {seconds / whole:7.1%}")
    print(f"  sum / wall     {sum(report['split'].values()) / whole:.4f}")
    print(f"  hidden communication {1000 * report['hidden_communication']:.3f} ms")
    counted = report["flops"]["counted"]
    for is_fused in (False, True) if args.gpu else (False,):
        wanted, words = analytic(run, is_fused=is_fused), ", one product again" * is_fused
        print(f"FLOPs: {counted:.6g}, analytic{words} {wanted:.6g}, ratio {counted / wanted:.4f}")
    print(
        f"  6N + 12LdT {report['flops']['model']:.6g}, not counted {report['flops']['not_counted']}"
    )
    theirs = compiler_count(described(args.gpu, 10, unroll=True))
    if theirs:
        print(f"  the compiler's count, unrolled {theirs:.6g}, ratio {counted / theirs:.4f}")
    print(f"speed: {report['speed']}")
    kinds = report["memory"]["by_kind"]
    for kind, size in kinds.items():
        print(f"  {kind:26} {size / 2**20:10.1f} MiB")
    stats = device.memory_stats() or {}
    peak = stats.get("peak_bytes_in_use")
    if peak:
        print(
            f"  sum {sum(kinds.values()) / 2**20:.1f} MiB, runtime's peak {peak / 2**20:.1f} MiB, "
            f"ratio {sum(kinds.values()) / peak:.3f}"
        )
    print(f"  highest RSS {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.1f} MiB")
    last = read_log(out / "log.jsonl")[-1]
    print("last line of the log:", json.dumps(last))
    for one in report["modules"][:12]:
        print(f"  {one['module'] or '-':34} {one['part']:14} {one['share']:6.1%}")
    for one in report["operations"][:10]:
        print(f"  {one['name'][:40]:42} {one['module']:28} {one['part']:14} {one['share']:6.1%}")
    print("advice:", *report["advice"], sep="\n  ")


if __name__ == "__main__":
    main()
