"""Predicted memory and time of plans, beside what was measured in a fresh process each.

    python benchmarks/bench_plan.py [--only gpt]
    python benchmarks/bench_plan.py --gpu

On eight virtual devices of the CPU the measured bytes are the process's peak RSS above its
baseline (what it had before the first step, without the state), which is the sum of all
devices. With --gpu they are `peak_bytes_in_use` of the first device. "formula" compiles nothing;
"compiler" is what the compiled step reserves. accelerate's estimate (of one device, Adam, no
activations) is computed by the package.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"  # of this process; those that measure choose their own

from barrow.launch.constants import Constants
from barrow.models.decoder.model import DecoderConfig
from barrow.models.roberta.model import RobertaConfig
from barrow.plan import Hardware, Plan, Request, Subject, ask, choose, known, predict_memory
from barrow.plan.times import predict_time
from barrow.recipes import gpt2, llama
from barrow.stream import StreamSettings
from barrow.stream.rows.masking import Mlm
from barrow.train import Run
from barrow.train.optimizers import AdamW
from barrow.train.run import MeshSettings
from barrow.train.step import StepSettings

MIB = 1 << 20
PLANS = (
    Plan(MeshSettings(data=8)),
    Plan(MeshSettings(data=1, fsdp=8, zero=1)),
    Plan(MeshSettings(data=1, fsdp=8, zero=2)),
    Plan(MeshSettings(data=1, fsdp=8, zero=3)),
    Plan(MeshSettings(data=8), 4),
    Plan(MeshSettings(data=8), 1, "all"),
    Plan(MeshSettings(data=4, tensor=2)),
)


def small_runs() -> dict[str, Run]:
    """Three families, small enough for a pair to take seconds."""

    def run(model: Any, **data: Any) -> Run:
        rows = StreamSettings(seq_len=64, batch=32, **data)
        return Run(model=model, data=rows, steps=10, optimizer=AdamW(), step=StepSettings())

    shape = {"vocab_size": 2048, "layers": 4, "context": 64}
    wide = {"vocab_size": 2048, "layers": 4, "width": 192, "heads": 4, "hidden": 768}
    return {
        "gpt": run(DecoderConfig(**shape, width=192, heads=4, hidden=768)),
        "llama": run(replace(llama.SHAPE, **shape, width=192, heads=4, kv_heads=2, hidden=512)),
        "roberta": run(RobertaConfig(**wide, positions=130, dropout=0.0), mlm=Mlm()),
    }


def table(rows: list[list[str]]) -> None:
    for row in rows:
        sys.stdout.write(f"| {' | '.join(row)} |\n")
    sys.stdout.flush()


def measure_cpu(args: argparse.Namespace) -> None:
    names = [
        "model",
        "plan",
        "measured MiB",
        "compiler",
        "formula",
        "accelerate",
        "s",
        "predicted s",
    ]
    table([names, ["---", "---", *["---:"] * 6]])
    cores = len(os.sched_getaffinity(0))
    speed = Constants("cpu", {"float32": 4e10 * cores / 8}, 1e9 * cores, 1e9, 1e9, 1e-4)
    hardware = Hardware(8, 8 << 30, speed, is_cpu=True)
    errors: dict[str, list[float]] = {"compiler": [], "formula": []}
    for name, run in small_runs().items():
        if args.only and name not in args.only:
            continue
        subject = Subject(run)
        chosen = choose(subject, hardware).plan
        seconds = {}
        peer = estimate(subject)
        for plan in dict.fromkeys((*PLANS, chosen)):
            found = ask(Request(plan.applied(run), steps=2), devices=8)
            formula = 8 * predict_memory(subject, plan).total
            assert found.memory is not None
            assert found.peak is not None
            assert found.busy is not None
            by_compiler = 8 * found.memory.total
            errors["compiler"].append(by_compiler / found.peak - 1)
            errors["formula"].append(formula / found.peak - 1)
            seconds[plan] = found.busy / cores
            time = predict_time(subject, plan, hardware).total
            words = f"{plan}{' (chosen)' if plan == chosen else ''}"
            both = [f"{n / MIB:,.0f} ({n / found.peak - 1:+.1%})" for n in (by_compiler, formula)]
            row = [name, words, f"{found.peak / MIB:,.0f}", *both, f"{peer:,.0f}"]
            table([[*row, f"{found.busy / cores:.2f}", f"{time:.2f}"]])
        slower = seconds[chosen] / min(seconds.values()) - 1
        sys.stdout.write(f"{name}: the chosen plan is {slower:.1%} slower than the fastest\n")
    report(errors)


def measure_gpu() -> None:
    table([["model", "plan", "measured GiB", "compiler", "formula", "ms", "predicted ms"]])
    table([["---", "---", *["---:"] * 5]])
    hardware = Hardware(1, 100 << 30, known("H200"))
    errors: dict[str, list[float]] = {"compiler": [], "formula": []}
    for name, run in {"gpt2.small": gpt2.small(), "gpt2.medium": gpt2.medium()}.items():
        run = replace(run, data=StreamSettings(seq_len=1024, batch=32), unroll=False)
        subject = hardware.subject(run)
        chosen, seconds = choose(subject, hardware).plan, {}
        for remat in ("none", "all"):
            for accumulate in (1, 2, 4):
                plan = Plan(MeshSettings(data=1), accumulate, remat)
                found = ask(Request(plan.applied(run), steps=6), env={"JAX_PLATFORMS": "cuda"})
                if found.is_out_of_memory or found.memory is None or found.peak is None:
                    table([[name, str(plan), "out of memory"]])
                    continue
                formula = predict_memory(subject, plan).total
                errors["compiler"].append(found.memory.total / found.peak - 1)
                errors["formula"].append(formula / found.peak - 1)
                seconds[plan] = found.seconds or 0.0
                time = predict_time(subject, plan, hardware).total
                words = f"{plan}{' (chosen)' if plan == chosen else ''}"
                sizes = (found.memory.total, formula)
                both = [f"{n / 2**30:.2f} ({n / found.peak - 1:+.1%})" for n in sizes]
                row = [name, words, f"{found.peak / 2**30:.2f}", *both]
                table([[*row, f"{1000 * seconds[plan]:.1f}", f"{1000 * time:.1f}"]])
        if chosen in seconds:
            slower = seconds[chosen] / min(seconds.values()) - 1
            sys.stdout.write(f"{name}: the chosen plan is {slower:.1%} slower than the fastest\n")
        else:
            sys.stdout.write(f"{name}: the chosen plan, {chosen}, was not measured\n")
    report(errors)


def report(errors: dict[str, list[float]]) -> None:
    for name, found in errors.items():
        within = sum(abs(one) <= 0.1 for one in found)
        worst = max(found, key=abs)
        sys.stdout.write(f"{name}: {within} of {len(found)} within 10%, worst {worst:+.1%}\n")


def estimate(subject: Subject) -> float:
    """MiB of eight devices, as accelerate estimates training with Adam from the weights."""
    import jax
    from accelerate.commands.estimate import estimate_training_usage

    weights = sum(x.size * 4 for x in jax.tree.leaves(subject.state.params))
    return float(8 * estimate_training_usage(weights, "float32")["step"] / MIB)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    if args.gpu:
        measure_gpu()
    else:
        measure_cpu(args)


if __name__ == "__main__":
    main()
