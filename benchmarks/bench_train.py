"""Training steps (forward, backward, clip, AdamW) beside transformers + accelerate + torch.compile.

    python benchmarks/bench_train.py [gpt2] [llama] [ablation] [remat] [cpu] [--steps 20]
        [--batch N] [--profile]

gpt2      GPT-2 of 124M parameters, 32 rows of 1024 synthetic tokens, bfloat16
llama     Llama-style of 1.3B parameters, 8 rows of 2048
ablation  GPT-2 again, with one choice at a time taken back
remat     GPT-2 again, with layers or attention alone computed again in the backward pass
cpu       gpt2.tiny: width 128, 2 layers, 8 rows of 128, float32, beside PyTorch eager and compiled

The first four want a GPU, and run where only jax, optax, numpy, torch, transformers, accelerate and
safetensors are installed. Every measurement is a process of its own, so that peak memory is its
own; sides take turns. `--profile` prints the kernels of our GPT-2 step by their time.

FLOPs of a token are 6N + 12·L·d·T: N parameters that take part in matrix products (no table that
is only looked up in), L layers of width d, T tokens in a row; causal attention needs half of the
second term, and both figures are shown. MFU is the share of an 8192³ bfloat16 product's speed,
measured in the same run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Job:
    """One measurement. `model` names a size; the rest are choices of ours or of theirs."""

    side: str
    model: str
    rows: int
    length: int
    steps: int = 20
    rounds: int = 3
    precision: str = "bf16"
    unroll: bool = True
    remat: str = "none"
    backend: str = "auto"
    num_slices: int | None = None
    columns: int = 128
    recompute_activation: bool = True
    recompute_norm: bool = False
    compiled: bool = True
    padded_vocab: bool = False
    profile: bool = False
    flags: str = ""
    keep_memory: bool = False
    deterministic: bool = True
    documents: bool = False  # rows of several, masked from each other, as runs have them


SIZES: dict[str, dict[str, Any]] = {
    "gpt2": {"vocab": 50257, "width": 768, "layers": 12, "heads": 12, "hidden": 3072, "top": 1024},
    "llama": {
        "vocab": 32000,
        "width": 2048,
        "layers": 24,
        "heads": 16,
        "hidden": 5504,
        "top": 2048,
    },
    "tiny": {"vocab": 2048, "width": 128, "layers": 2, "heads": 4, "hidden": 512, "top": 128},
}


def timed(run: Any, wait: Any, job: Job) -> dict[str, float]:
    """Seconds and CPU seconds of a step: the quickest of some rounds of steps."""
    walls, cpus = [], []
    for _ in range(job.rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(job.steps):
            run()
        wait()
        walls.append((time.perf_counter() - wall) / job.steps)
        cpus.append((time.process_time() - cpu) / job.steps)
    return {"seconds": min(walls), "cpu_seconds": min(cpus)}


def ours(job: Job) -> dict[str, Any]:
    """Barrow's step."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from barrow import nn
    from barrow.models.decoder.model import Decoder, DecoderConfig
    from barrow.nn.attention.rotary import Rotary
    from barrow.nn.cross_entropy import cross_entropy
    from barrow.nn.layers.remat import STATISTICS_ONLY
    from barrow.train import (
        AdamW,
        Loss,
        Objective,
        Precision,
        StepSettings,
        init_state,
        make_step,
    )
    from barrow.train.run import policy_of

    @dataclass(frozen=True)
    class Variant(Decoder):
        """With what the norms and the activation keep for the backward pass as the job says."""

        def _norm(self) -> Any:
            norm = super()._norm()
            return nn.Remat(norm, STATISTICS_ONLY) if job.recompute_norm else norm

        def _block(self) -> Any:
            block = super()._block()
            return replace(block, mlp=replace(block.mlp, recompute=job.recompute_activation))

    size = SIZES[job.model]
    config = DecoderConfig(
        vocab_size=size["vocab"],
        width=size["width"],
        layers=size["layers"],
        heads=size["heads"],
        hidden=size["hidden"],
        context=size["top"],
    )
    if job.model == "llama":
        config = replace(
            config,
            norm="rms",
            activation="silu",
            gated=True,
            rotary=Rotary(),
            attention_bias=False,
            out_bias=False,
            mlp_bias=False,
            tied=False,
        )
    precision = Precision(job.precision)  # type: ignore[arg-type]
    policy = policy_of(job.remat)  # type: ignore[arg-type]
    model = Variant(
        config,
        unroll=job.unroll,
        remat=policy,
        backend=job.backend,  # type: ignore[arg-type]
        dtype=jnp.dtype(precision.dtype).name,
    )

    def loss(params: Any, collections: Any, batch: Any, key: Any) -> Loss:
        borders = {name: batch[name] for name in ("segments", "positions") if name in batch}
        hidden, _ = model.apply(params, batch["tokens"], **borders, method=model.hidden)
        weight, transposed = Decoder(config).head_weight(params)
        mask = batch["mask"]
        total = cross_entropy(
            hidden,
            weight,
            batch["targets"],
            mask,
            transposed=transposed,
            num_slices=job.num_slices,
            columns=job.columns,
        )
        return Loss(total, mask.sum(), {}, collections)

    settings = StepSettings(precision, deterministic=job.deterministic)
    optimizer = AdamW().make(1000)
    shape = jax.ShapeDtypeStruct((1, 8), jnp.int32)
    state = init_state(lambda k: model.init(k, shape), optimizer, settings, jax.random.key(0))
    step = make_step(Objective(loss), optimizer, settings)
    ids = np.random.default_rng(0).integers(0, config.vocab_size, (job.rows, job.length + 1))
    ids = ids.astype(np.int32)
    batch = {"tokens": ids[:, :-1], "targets": ids[:, 1:], "mask": np.ones_like(ids[:, 1:], "f4")}
    if job.documents:
        ends = np.random.default_rng(1).random(ids[:, 1:].shape) < 1 / 400
        ends[:, 0] = True
        places = np.broadcast_to(np.arange(job.length, dtype=np.int32), ends.shape)
        begins = np.maximum.accumulate(np.where(ends, places, 0), axis=1)
        batch |= {"segments": ends.cumsum(axis=1).astype(np.int32), "positions": places - begins}
    batch = jax.device_put(batch)
    looked_up = ("embed/table",) if not config.tied else ()
    used = {
        path: leaf.size
        for path, leaf in nn.paths(state.params).items()
        if path not in (*looked_up, "positions/table")
    }
    held = [state]
    began = time.perf_counter()

    def run() -> None:
        held[0], held[1:] = (lambda out: (out[0], [out[1]]))(step(held[0], batch))

    def wait() -> None:
        jax.block_until_ready(held)

    run()
    wait()
    found = {"compile": time.perf_counter() - began}
    for _ in range(3):
        run()
    wait()
    found |= timed(run, wait, job)
    stats = jax.local_devices()[0].memory_stats() or {}
    found["peak"] = stats.get("peak_bytes_in_use", 0)
    found["matmul_params"] = sum(used.values())
    found["loss"] = float(held[1].loss.value)
    if job.profile:
        found["kernels"] = kernels(lambda: [run() for _ in range(3)], wait, 3)
    return found


def kernels(run: Any, wait: Any, num: int) -> list[tuple[str, float, float]]:
    """Name, milliseconds and launches in a step of what took longest on the device."""
    import jax

    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            run()
            wait()
        (file,) = Path(folder).rglob("*.trace.json.gz")
        events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    devices = {
        e["pid"]
        for e in events
        if e.get("name") == "process_name" and "/device:" in e["args"]["name"]
    }
    streams = {
        (e["pid"], e["tid"])
        for e in events
        if e.get("name") == "thread_name" and "Stream" in e["args"]["name"]
    }
    totals: dict[str, list[float]] = {}
    for event in events:
        place = (event.get("pid"), event.get("tid"))
        if event.get("ph") == "X" and place[0] in devices and place in streams:
            entry = totals.setdefault(event["name"], [0.0, 0.0])
            entry[0] += event["dur"] / 1e3 / num
            entry[1] += 1 / num
    table = sorted(((n, ms, calls) for n, (ms, calls) in totals.items()), key=lambda e: -e[1])
    return [("all", sum(e[1] for e in table), sum(e[2] for e in table)), *table[:40]]


def theirs(job: Job) -> dict[str, Any]:
    """The step of transformers and PyTorch, under accelerate on a GPU."""
    import torch
    from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig

    size = SIZES[job.model]
    # Ours fills the vocabulary up by itself; theirs is given one that suits the hardware.
    vocab = -(-size["vocab"] // 64) * 64 if job.padded_vocab else size["vocab"]
    common = {"vocab_size": vocab, "use_cache": False, "bos_token_id": 0, "eos_token_id": 0}
    if job.model == "llama":
        config: Any = LlamaConfig(
            hidden_size=size["width"],
            num_hidden_layers=size["layers"],
            num_attention_heads=size["heads"],
            intermediate_size=size["hidden"],
            max_position_embeddings=size["top"],
            **common,
        )
    else:
        config = GPT2Config(
            n_embd=size["width"],
            n_layer=size["layers"],
            n_head=size["heads"],
            n_inner=size["hidden"],
            n_positions=size["top"],
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            **common,
        )
    on_gpu = torch.cuda.is_available() and job.model != "tiny"
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    options = {"lr": 3e-4, "betas": (0.9, 0.95), "weight_decay": 0.1}
    ids = torch.randint(0, size["vocab"], (job.rows, job.length + 1))
    if on_gpu:
        from accelerate import Accelerator

        accelerator = Accelerator(mixed_precision="bf16")
        model = model.to(accelerator.device)
        ids = ids.to(accelerator.device)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True, **options)
        model = torch.compile(model) if job.compiled else model
        model, optimizer = accelerator.prepare(model, optimizer)
        backward, clip = accelerator.backward, accelerator.clip_grad_norm_
    else:
        torch.set_num_threads(2)
        optimizer = torch.optim.AdamW(model.parameters(), **options)
        model = torch.compile(model) if job.compiled else model
        backward, clip = torch.Tensor.backward, torch.nn.utils.clip_grad_norm_
    tokens, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    held: list[Any] = []

    def run() -> None:
        # Their own shift would cut the last place off: the targets are given as they are.
        loss = model(input_ids=tokens, labels=targets, shift_labels=targets).loss
        backward(loss)
        clip(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        held[:] = [loss.detach()]

    def wait() -> None:
        if on_gpu:
            torch.cuda.synchronize()

    began = time.perf_counter()
    run()
    wait()
    found = {"compile": time.perf_counter() - began}
    for _ in range(3):
        run()
    wait()
    found |= timed(run, wait, job)
    found["peak"] = torch.cuda.max_memory_allocated() if on_gpu else 0
    found["loss"] = float(held[0])
    return found


def ceiling(job: Job) -> dict[str, Any]:
    """FLOP/s of an 8192³ bfloat16 product."""
    import jax
    import jax.numpy as jnp

    num = 8192
    x = jax.random.normal(jax.random.key(0), (num, num), jnp.bfloat16)
    product = jax.jit(lambda a, b: a @ b)
    held = [product(x, x)]

    def run() -> None:
        held[0] = product(x, x)

    found = timed(run, lambda: jax.block_until_ready(held), replace(job, steps=50))
    return {"flops": 2 * num**3 / found["seconds"]}


def measure(job: Job) -> dict[str, Any]:
    """The job in a process of its own; "failed" says why there is no figure."""
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    env["HF_HUB_OFFLINE"] = "1"
    if job.flags:
        env["XLA_FLAGS"] = f"{env.get('XLA_FLAGS', '')} {job.flags}".strip()
    if job.model == "tiny":
        env |= {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, __file__, "--one", json.dumps(asdict(job))],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return {"failed": f"{done.returncode}: {last[:160]}"}
    return json.loads(lines[-1])  # type: ignore[no-any-return]


def row(name: str, job: Job, found: dict[str, Any], first: dict[str, Any] | None) -> None:
    """A line of a table: tokens a second, memory, and the ratio to the first line."""
    if "failed" in found:
        print(f"| {name} | failed | {found['failed']} | | |", flush=True)
        return
    speed = job.rows * job.length / found["seconds"]
    ratio = "" if not first or "failed" in first else f"{first['seconds'] / found['seconds']:.3f}×"
    print(
        f"| {name} | {speed:,.0f} | {found['seconds'] * 1e3:.1f} | {found['peak'] / 2**30:.2f} | "
        f"{ratio} | {found['compile']:.0f} | {found['loss']:.4f} |",
        flush=True,
    )


def head(title: str) -> None:
    print(f"\n## {title}\n")
    print("| | tokens/s | ms a step | peak GiB | speed to the first | compile s | loss |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)


def compare(title: str, base: Job, others: dict[str, Job]) -> dict[str, Any]:
    """A table of jobs, the first of them the measure of all."""
    head(title)
    first: dict[str, Any] | None = None
    for name, job in {"barrow": base, **others}.items():
        found = measure(job)
        row(name, job, found, first)
        if first is None:
            first = found
            for kernel, ms, calls in found.get("kernels", ()):
                print(f"    {ms:9.3f} ms {calls:7.1f} × {kernel[:100]}")
    return first or {}


def utilisation(job: Job, found: dict[str, Any]) -> None:
    """Model FLOPs as a share of the measured ceiling."""
    top = measure(replace(job, side="ceiling"))
    if "failed" in found or "failed" in top:
        return
    size = SIZES[job.model]
    attention = 12 * size["layers"] * size["width"] * job.length
    speed = job.rows * job.length / found["seconds"]
    print(f"\nmatmul ceiling {top['flops'] / 1e12:.0f} TFLOP/s (8192³, bfloat16)")
    for name, share in (("full attention, 12·L·d·T", 1.0), ("causal attention, 6·L·d·T", 0.5)):
        flops = (6 * found["matmul_params"] + share * attention) * speed
        print(
            f"6N + {name}: {flops / 1e12:.0f} TFLOP/s, {flops / top['flops']:.1%} of the ceiling",
            flush=True,
        )


def ablation(base: Job) -> dict[str, Job]:
    """One choice at a time taken back or added."""
    return {
        "attention: xla": replace(base, backend="xla"),
        "cross-entropy in one slice": replace(base, num_slices=1),
        "cross-entropy in 16 slices": replace(base, num_slices=16),
        "vocabulary not padded": replace(base, columns=1),
        "layers scanned": replace(base, unroll=False),
        "activation kept": replace(base, recompute_activation=False),
        "norms recomputed": replace(base, recompute_norm=True),
        "fp8 products": replace(base, precision="fp8"),
        "latency hiding": replace(base, flags="--xla_gpu_enable_latency_hiding_scheduler=true"),
        "no command buffers": replace(base, flags="--xla_gpu_enable_command_buffer="),
        "deterministic": replace(base, deterministic=True),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="gpt2, llama, ablation, remat, cpu; none: all")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, help="rows, in place of each part's own")
    parser.add_argument("--profile", action="store_true", help="our kernels, for gpt2 and llama")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        job = Job(**json.loads(args.one))
        if job.keep_memory:
            from barrow.malloc import keep_freed_memory

            keep_freed_memory()
        found = {"ours": ours, "theirs": theirs, "ceiling": ceiling}[job.side](job)
        print(json.dumps(found))
        return
    parts = args.parts or ["gpt2", "llama", "ablation", "remat", "cpu"]
    names = ("jax", "optax", "torch", "transformers", "accelerate")
    versions = []
    for name in names:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"no {name}")
    print(f"Python {platform.python_version()}, {', '.join(versions)}, {os.cpu_count()} CPUs")
    gpt2 = Job("ours", "gpt2", args.batch or 32, 1024, steps=args.steps)
    if "gpt2" in parts:
        base = replace(gpt2, profile=args.profile)
        peer = {
            "barrow, not deterministic": replace(gpt2, deterministic=False),
            "barrow, documents of 400 tokens masked": replace(gpt2, documents=True),
            "barrow, remat=cheap": replace(gpt2, remat="cheap"),
            "transformers, compiled": replace(gpt2, side="theirs"),
            "transformers, compiled, vocabulary padded to 50,304": replace(
                gpt2, side="theirs", padded_vocab=True
            ),
            "transformers, eager": replace(gpt2, side="theirs", compiled=False),
        }
        utilisation(base, compare(f"GPT-2 124M, {gpt2.rows}×1024, bfloat16", base, peer))
    if "llama" in parts:
        llama = Job("ours", "llama", args.batch or 8, 2048, steps=max(3, args.steps // 2))
        others = {
            "barrow, not deterministic": replace(llama, deterministic=False),
            "barrow, fp8": replace(llama, precision="fp8"),
            "barrow, remat=cheap": replace(llama, remat="cheap"),
            "barrow, remat=attention": replace(llama, remat="attention"),
            "barrow, layers scanned": replace(llama, unroll=False),
            "transformers, compiled": replace(llama, side="theirs"),
        }
        base = replace(llama, profile=args.profile)
        utilisation(base, compare(f"Llama-style 1.3B, {llama.rows}×2048, bfloat16", base, others))
    if "ablation" in parts:
        compare("What each choice gives (GPT-2 124M)", gpt2, ablation(gpt2))
    if "remat" in parts:
        scanned = replace(gpt2, unroll=False, backend="xla")
        others = {
            "attention alone computed again": replace(scanned, remat="attention"),
            "all computed again": replace(scanned, remat="all"),
        }
        compare("Computed again in the backward pass (scanned, plain attention)", scanned, others)
    if "cpu" in parts:
        tiny = Job(
            *("ours", "tiny", args.batch or 8, 128, args.steps),
            precision="fp32",
            keep_memory=True,  # as the command line does
        )
        plain = replace(tiny, side="theirs", keep_memory=False)
        others = {
            "PyTorch, eager": replace(plain, compiled=False),
            "PyTorch, compiled": plain,
            "PyTorch, compiled, freed memory kept": replace(plain, keep_memory=True),
            "barrow, freed memory not kept": replace(tiny, keep_memory=False),
            "barrow, scanned": replace(tiny, unroll=False),
        }
        compare("CPU: width 128, 2 layers, 8×128, vocabulary 2,048, float32", tiny, others)


if __name__ == "__main__":
    main()
