"""CLIP ViT-B/32 beside transformers: encoding images, and training steps.

    python benchmarks/bench_clip.py [encode] [train] [ablation] [cpu] [--steps 20] [--profile]

encode    images/s of the image tower, bfloat16, batches that lie on the device
train     full steps (both towers, symmetric loss over the batch, backward, clip, AdamW) at batch
          512 and 2048, beside transformers + accelerate + torch.compile
ablation  our training step at 512 with one choice at a time taken back or added
cpu       a small model in float32, to see that both sides run and agree

The first three want a GPU, and run where only jax, optax, numpy, torch, transformers, accelerate
and safetensors are installed. Every measurement is a process of its own; sides take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any


@dataclass(frozen=True)
class Job:
    """One measurement; `what` is encode or train, `model` b32 or tiny."""

    side: str
    what: str
    batch: int
    model: str = "b32"
    steps: int = 20
    rounds: int = 3
    precision: str = "bf16"
    unroll: bool = True
    apart: bool = True
    backend: str = "auto"
    remat: str = "none"
    compiled: bool = True
    flags: str = ""
    profile: bool = False


# Embedding; image side, patch, width, layers, heads; vocabulary, context, width, layers, heads.
SIZES = {
    "b32": (512, (224, 32, 768, 12, 12), (49408, 77, 512, 12, 8)),
    "tiny": (64, (64, 16, 128, 3, 2), (512, 32, 64, 2, 1)),
}


def timed(run: Any, wait: Any, job: Job) -> dict[str, float]:
    """Seconds of a step: the quickest of some rounds of steps; and of the first, with compiling."""
    began = time.perf_counter()
    run()
    wait()
    first = time.perf_counter() - began
    for _ in range(3):
        run()
    wait()
    walls = []
    for _ in range(job.rounds):
        wall = time.perf_counter()
        for _ in range(job.steps):
            run()
        wait()
        walls.append((time.perf_counter() - wall) / job.steps)
    return {"seconds": min(walls), "first": first}


def data(job: Job) -> tuple[Any, Any]:
    """Images [batch, side, side, 3] and ids with the end of the text last: nothing is filled."""
    import numpy as np

    _, (side, *_), (vocab_size, context, *_) = SIZES[job.model]
    rng = np.random.default_rng(0)
    images = rng.standard_normal((job.batch, side, side, 3), np.float32)
    ids = rng.integers(1, vocab_size - 2, (job.batch, context)).astype(np.int32)
    ids[:, 0], ids[:, -1] = vocab_size - 2, vocab_size - 1
    return images, ids


def ours(job: Job) -> dict[str, Any]:
    """Barrow's side."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax

    from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig
    from barrow.models.clip.model import CLIP, normalised
    from barrow.models.clip.tower import Running, towers_apart
    from barrow.nn.compiled import jitted
    from barrow.nn.layers.remat import ATTENTION_ONLY, EVERYTHING
    from barrow.train import (
        AdamW,
        Loss,
        Objective,
        Precision,
        StepSettings,
        init_state,
        make_step,
    )

    embed, image, text = SIZES[job.model]
    precision = Precision(job.precision)  # type: ignore[arg-type]
    dtype = jnp.dtype(precision.dtype)
    policy = {"none": None, "attention": ATTENTION_ONLY, "everything": EVERYTHING}[job.remat]
    running = Running(job.unroll, policy, job.backend, dtype.name)  # type: ignore[arg-type]
    model = CLIP(ClipConfig(embed, VisionConfig(*image), TextConfig(*text)), running)
    images, ids = data(job)

    def init(key: jax.Array) -> Any:
        return model.init(key, *model.config.example)

    if job.what == "encode":
        params = jax.jit(lambda k: jax.tree.map(lambda x: x.astype(dtype), init(k)))(
            jax.random.key(0)
        )
        params = towers_apart(params) if job.apart else params
        encode = jitted(lambda p, x: model.apply(p, x, method=model.image))
        given = jax.device_put(images.astype(dtype))
        held: list[Any] = [None]

        def run() -> None:
            held[0] = encode(params, given)

        found = timed(run, lambda: jax.block_until_ready(held), job)
        found["number"] = float(np.abs(np.asarray(held[0], np.float32)).mean())
        return found | profiled(run, lambda: jax.block_until_ready(held), job)

    def loss(params: Any, collections: Any, batch: Any, key: Any) -> Loss:
        a, b, scale = model.apply(params, batch["images"], batch["texts"])
        logits = scale * jnp.dot(normalised(a), normalised(b).T)
        right = jnp.arange(len(logits))
        losses = optax.softmax_cross_entropy_with_integer_labels(
            logits, right
        ) + optax.softmax_cross_entropy_with_integer_labels(logits.T, right)
        return Loss(losses.sum() / 2, jnp.float32(len(logits)), {}, collections)

    settings = StepSettings(precision)
    optimizer = AdamW(beta2=0.98, eps=1e-6, weight_decay=0.2).make(1000)
    state = init_state(init, optimizer, settings, jax.random.key(0))
    step = make_step(Objective(loss, is_sum_over_rows=False), optimizer, settings)
    batch = jax.device_put({"images": images, "texts": ids})
    kept = [state, None]

    def train() -> None:
        kept[0], kept[1] = step(kept[0], batch)

    found = timed(train, lambda: jax.block_until_ready(kept), job)
    stats = jax.local_devices()[0].memory_stats() or {}
    found["peak"] = stats.get("peak_bytes_in_use", 0)
    found["number"] = float(kept[1].loss.value)  # type: ignore[attr-defined]
    return found | profiled(train, lambda: jax.block_until_ready(kept), job)


def profiled(run: Any, wait: Any, job: Job) -> dict[str, Any]:
    """Kernels of three steps, where they are asked for."""
    if not job.profile:
        return {}
    sys.path.insert(0, os.path.dirname(__file__))
    from bench_train import kernels

    return {"kernels": kernels(lambda: [run() for _ in range(3)], wait, 3)}


def theirs(job: Job) -> dict[str, Any]:
    """The side of transformers and PyTorch, under accelerate on a GPU."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    embed, image, text = SIZES[job.model]
    config = CLIPConfig(
        projection_dim=embed,
        vision_config={
            "image_size": image[0],
            "patch_size": image[1],
            "hidden_size": image[2],
            "intermediate_size": 4 * image[2],
            "num_hidden_layers": image[3],
            "num_attention_heads": image[4],
            "projection_dim": embed,
        },
        text_config={
            "vocab_size": text[0],
            "max_position_embeddings": text[1],
            "hidden_size": text[2],
            "intermediate_size": 4 * text[2],
            "num_hidden_layers": text[3],
            "num_attention_heads": text[4],
            "projection_dim": embed,
            "eos_token_id": text[0] - 1,
            "bos_token_id": text[0] - 2,
            "pad_token_id": text[0] - 1,
        },
    )
    on_gpu = torch.cuda.is_available() and job.model != "tiny"
    device = "cuda" if on_gpu else "cpu"
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = CLIPModel._from_config(config, attn_implementation="sdpa").to(device)
    images, ids = data(job)
    pixels = torch.tensor(images.transpose(0, 3, 1, 2)).contiguous().to(device)
    tokens = torch.tensor(ids).long().to(device)
    held: list[Any] = [None]

    def wait() -> None:
        if on_gpu:
            torch.cuda.synchronize()

    if job.what == "encode":
        kind = torch.bfloat16 if job.precision == "bf16" else torch.float32
        model = model.to(kind).eval()
        pixels = pixels.to(kind)

        def features(x: Any) -> Any:
            found = model.get_image_features(pixel_values=x)
            return getattr(found, "pooler_output", found)

        encode = torch.compile(features) if job.compiled else features

        def run() -> None:
            with torch.inference_mode():
                held[0] = encode(pixels)

        found = timed(run, wait, job)
        return found | {"number": float(held[0].float().abs().mean())}

    options: dict[str, Any] = {"lr": 5e-4, "betas": (0.9, 0.98), "eps": 1e-6, "weight_decay": 0.2}
    if on_gpu:
        from accelerate import Accelerator

        accelerator = Accelerator(mixed_precision="bf16")
        optimizer = torch.optim.AdamW(model.parameters(), fused=True, **options)
        model = torch.compile(model) if job.compiled else model
        model, optimizer = accelerator.prepare(model, optimizer)
        backward, clip = accelerator.backward, accelerator.clip_grad_norm_
    else:
        torch.set_num_threads(2)
        optimizer = torch.optim.AdamW(model.parameters(), **options)
        model = torch.compile(model) if job.compiled else model
        backward, clip = torch.Tensor.backward, torch.nn.utils.clip_grad_norm_

    def train() -> None:
        loss = model(input_ids=tokens, pixel_values=pixels, return_loss=True).loss
        backward(loss)
        clip(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        held[0] = loss.detach()

    found = timed(train, wait, job)
    found["peak"] = torch.cuda.max_memory_allocated() if on_gpu else 0
    return found | {"number": float(held[0])}


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
        return {"failed": f"{done.returncode}: {last[:200]}"}
    return json.loads(lines[-1])  # type: ignore[no-any-return]


def compare(title: str, jobs: dict[str, Job]) -> None:
    """A table of jobs; ratios are the first one's speed to each."""
    print(f"\n## {title}\n")
    unit = "images" if next(iter(jobs.values())).what == "encode" else "pairs"
    print(f"| | {unit}/s | ms | peak GiB | first / this | first call s | mean or loss |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    first: dict[str, Any] | None = None
    for name, job in jobs.items():
        found = measure(job)
        if "failed" in found:
            print(f"| {name} | failed | {found['failed']} | | | | |", flush=True)
            continue
        first = first or found
        print(
            f"| {name} | {job.batch / found['seconds']:,.0f} | {found['seconds'] * 1e3:.2f} | "
            f"{found.get('peak', 0) / 2**30:.2f} | {found['seconds'] / first['seconds']:.3f}× | "
            f"{found['first']:.0f} | {found['number']:.4f} |",
            flush=True,
        )
        for kernel, ms, calls in found.get("kernels", ()):
            print(f"    {ms:9.3f} ms {calls:7.1f} × {kernel[:100]}")


def sides(job: Job) -> dict[str, Job]:
    """Ours and theirs."""
    return {
        "barrow": job,
        "transformers, compiled": replace(job, side="theirs", profile=False),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="encode, train, ablation, cpu; none: all")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--profile", action="store_true", help="what our kernels take")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        job = Job(**json.loads(args.one))
        print(json.dumps({"ours": ours, "theirs": theirs}[job.side](job)))
        return
    parts = args.parts or ["encode", "train", "ablation", "cpu"]
    versions = []
    for name in ("jax", "optax", "torch", "transformers", "accelerate"):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"no {name}")
    print(f"Python {platform.python_version()}, {', '.join(versions)}, {os.cpu_count()} CPUs")
    if "encode" in parts:
        job = Job("ours", "encode", 1024, steps=args.steps, profile=args.profile)
        others = {
            "barrow, plain attention": replace(job, backend="xla", profile=False),
            "barrow, fused attention of cuDNN": replace(job, backend="cudnn"),
            "barrow, layers in one array": replace(job, apart=False),
            "barrow, layers scanned": replace(job, unroll=False, apart=False),
        }
        compare("encode_image, ViT-B/32, batch 1024, bfloat16", {**sides(job), **others})
    train = Job("ours", "train", 512, steps=args.steps, profile=args.profile)
    if "train" in parts:
        for batch in (512, 2048):
            job = replace(train, batch=batch, steps=max(5, args.steps * 512 // batch))
            compare(f"Training, ViT-B/32, batch {batch}, bfloat16", sides(job))
    if "ablation" in parts:
        job = replace(train, profile=False)
        compare(
            "What each choice gives (training at 512)",
            {
                "barrow": job,
                "plain attention": replace(job, backend="xla"),
                "fused attention of cuDNN": replace(job, backend="cudnn"),
                "layers scanned": replace(job, unroll=False),
                "attention computed again": replace(job, remat="attention", backend="xla"),
            },
        )
    if "cpu" in parts:
        for what in ("encode", "train"):
            job = Job("ours", what, 32, "tiny", steps=5, rounds=2, precision="fp32")
            eager = {"transformers, eager": replace(job, side="theirs", compiled=False)}
            compare(f"CPU, small model, {what}, batch 32, float32", {"barrow": job, **eager})


if __name__ == "__main__":
    main()
