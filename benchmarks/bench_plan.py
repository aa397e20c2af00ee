"""Predicted memory and time of plans, beside what was measured in fresh processes.

    python benchmarks/bench_plan.py [--only gpt] [--repeat 3]   # memory, on eight virtual devices
    python benchmarks/bench_plan.py --time [--only gpt]         # time, on an idle machine
    python benchmarks/bench_plan.py --gpu

Memory of eight virtual devices of the CPU: the peak RSS of a fresh process during a second step,
above what it had after the first without its state; the sum of all devices. Freed memory is given
back at once in these processes (`GIVES_BACK`), so that RSS is what is in use. Times are of other
processes, which keep freed memory as `barrow train` does, with constants that `barrow env
--measure` measured first. With --gpu memory is `peak_bytes_in_use` of the first device. "formula"
compiles nothing; "compiler" is what the compiled step reserves. "accelerate" is `accelerate
estimate-memory` (one device, Adam, no activations), times eight.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"  # of this process; those that measure choose their own

from barrow import config
from barrow.launch.constants import Constants
from barrow.models.decoder.model import DecoderConfig
from barrow.models.roberta.model import RobertaConfig
from barrow.plan import Hardware, Plan, Request, Subject, ask, choose, known, predict_memory
from barrow.plan.times import predict_time
from barrow.plan.worker import GIVES_BACK
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
    Plan(MeshSettings(data=2, fsdp=4, zero=3)),
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


def chosen_from(args: argparse.Namespace) -> dict[str, Run]:
    return {name: run for name, run in small_runs().items() if not args.only or name in args.only}


def measure_memory(args: argparse.Namespace) -> None:
    names = ["model", "plan", "measured MiB", "compiler", "formula", "accelerate"]
    table([names, ["---", "---", *["---:"] * 4]])
    errors: dict[str, list[float]] = {"compiler": [], "formula": []}
    for name, run in chosen_from(args).items():
        subject, peer = Subject(run), estimate(name)
        for plan in PLANS:
            request = Request(plan.applied(run), steps=1)
            tries = [ask(request, devices=8, env=GIVES_BACK) for _ in range(args.repeat)]
            peaks = sorted(one.peak or 0 for one in tries)
            measured, (found, *_) = peaks[len(peaks) // 2], tries
            assert found.memory is not None
            sizes = 8 * found.memory.total, 8 * predict_memory(subject, plan).total
            for kind, size in zip(errors, sizes, strict=True):
                errors[kind].append(size / measured - 1)
            both = [f"{n / MIB:,.0f} ({n / measured - 1:+.1%})" for n in sizes]
            spread = "–".join(f"{n / MIB:,.0f}" for n in dict.fromkeys((peaks[0], peaks[-1])))
            table([[name, str(plan), spread, *both, f"{peer:,.0f}"]])
    report(errors)


def measured_constants() -> Constants:
    """Of eight virtual devices, by the command that users have."""
    flags = "--xla_force_host_platform_device_count=8"
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "BARROW_CACHE": folder, "XLA_FLAGS": flags}
        command = [sys.executable, "-m", "barrow", "env", "--measure", "--json"]
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    return config.from_dict(Constants, json.loads(done.stdout)["constants"])


def measure_time(args: argparse.Namespace) -> None:
    constants = measured_constants()
    sys.stdout.write(f"{constants}\n\n")
    table([["model", "plan", "ms", "ms of both cores", "predicted ms"]])
    table([["---", "---", *["---:"] * 3]])
    hardware, cores = Hardware(8, 8 << 30, constants, is_cpu=True), len(os.sched_getaffinity(0))
    for name, run in chosen_from(args).items():
        subject = Subject(run)
        chosen, seconds = choose(subject, hardware).plan, {}
        for plan in dict.fromkeys((*PLANS, chosen)):
            found = ask(Request(plan.applied(run), steps=args.steps), devices=8)
            assert found.seconds is not None
            assert found.busy is not None
            seconds[plan] = found.seconds
            time = predict_time(subject, plan, hardware).total
            words = f"{plan}{' (chosen)' if plan == chosen else ''}"
            each = (found.seconds, found.busy / cores, time)
            table([[name, words, *(f"{1000 * one:.0f}" for one in each)]])
        slower = seconds[chosen] / min(seconds.values()) - 1
        sys.stdout.write(f"{name}: the chosen plan is {slower:.1%} slower than the fastest\n")


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


def estimate(name: str) -> float:
    """MiB of eight devices, as `accelerate estimate-memory` says of the model's folder.

    It takes names of the hub alone, so its look at the hub is answered here; all else is its own.
    """
    import contextlib
    import io

    from accelerate.commands import estimate as peer
    from transformers import GPT2Config, LlamaConfig, RobertaConfig

    wide = {"vocab_size": 2048, "hidden_size": 192, "num_hidden_layers": 4}
    wide |= {"num_attention_heads": 4}
    made = {
        "gpt": lambda: GPT2Config(vocab_size=2048, n_embd=192, n_layer=4, n_head=4, n_positions=64),
        "llama": lambda: LlamaConfig(**wide, intermediate_size=512, num_key_value_heads=2),
        "roberta": lambda: RobertaConfig(
            **wide, intermediate_size=768, max_position_embeddings=130
        ),
    }
    with tempfile.TemporaryDirectory() as folder:
        made[name]().save_pretrained(folder)
        peer.verify_on_hub = lambda *_: SimpleNamespace(config={}, library_name="transformers")
        options = [folder, "--library_name", "transformers", "--dtypes", "float32"]
        with contextlib.redirect_stdout(io.StringIO()):
            ((*_, usage),) = peer.gather_data(peer.estimate_command_parser().parse_args(options))
    return float(8 * max(usage.values()) / MIB)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--repeat", type=int, default=1, help="processes of a pair; the median")
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()
    if args.gpu:
        measure_gpu()
    else:
        (measure_time if args.time else measure_memory)(args)


if __name__ == "__main__":
    main()
