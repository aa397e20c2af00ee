"""distilroberta-base, random weights: embeddings and masked-LM training beside transformers.

    python benchmarks/bench_roberta.py [cpu] [bucketing] [embed] [texts] [mlm] [--steps N] [--small]

cpu        hidden states of whole batches and of one sentence, float32, 2 threads, beside eager
           transformers at the same batches
bucketing  texts of uneven lengths through `models.encode.embed`: sorted by length within a
           look-ahead, against batches in the order of arrival
embed      on a GPU: mean embeddings in bfloat16 at 256×128 and 64×512, and with lengths between
           half and all of that, beside transformers + torch.compile
texts      on a GPU: texts of uneven lengths to vectors on the host: `models.encode.embed`, beside
           transformers + torch.compile with texts sorted by length, 256 a batch, each as long as
           its longest
mlm        on a GPU: training steps of 64×512 in bfloat16 (head on masked places only, backward,
           clip, AdamW) beside transformers + accelerate + torch.compile, as it comes (head on all
           places) and with its head on masked places too

The last three run where only jax, optax, numpy, safetensors, torch, transformers and accelerate are
installed. Every measurement is a process of its own; a figure is the quickest of some rounds. CPU
seconds of the process are shown too: on a busy machine they tell more than the clock. `--small`
shrinks the model, to see that the script runs.
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

MASKED = 0.15


@dataclass(frozen=True)
class Job:
    """One measurement: `what` by `side`, over rows of a length."""

    what: str
    side: str
    rows: int
    length: int
    steps: int = 20
    rounds: int = 5
    ragged: bool = False
    ahead: int = 2048
    small: bool = False
    compiled: bool = True
    flags: str = ""
    profile: bool = False
    peer: str = "transformers"


def size_of(job: Job) -> dict[str, int]:
    if job.small:
        return {"vocab": 500, "width": 64, "layers": 2, "heads": 4, "hidden": 128}
    return {"vocab": 50265, "width": 768, "layers": 6, "heads": 12, "hidden": 3072}


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


def arrays_of(job: Job) -> tuple[Any, Any]:
    """Tokens [rows, length] and the lengths of rows; padding is 1."""
    import numpy as np

    rng = np.random.default_rng(0)
    tokens = rng.integers(5, size_of(job)["vocab"], (job.rows, job.length)).astype(np.int32)
    lengths = np.full(job.rows, job.length, np.int32)
    if job.ragged:
        lengths = rng.integers(job.length // 2, job.length + 1, job.rows).astype(np.int32)
        tokens[np.arange(job.length) >= lengths[:, None]] = 1
    return tokens, lengths


def our_model(job: Job, *, dtype: str, unroll: bool) -> Any:
    from barrow.models.roberta.model import Roberta, RobertaConfig

    size = size_of(job)
    config = RobertaConfig(
        vocab_size=size["vocab"],
        width=size["width"],
        layers=size["layers"],
        heads=size["heads"],
        hidden=size["hidden"],
        dropout=0.0,
    )
    return Roberta(config, unroll=unroll, dtype=dtype)


def our_params(model: Any, dtype: str) -> Any:
    """Layers apart, as `models.open(…, unstack=True)` gives them; drawn without compiling."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from barrow import nn

    shapes = jax.eval_shape(model.init, jax.random.key(0), jax.ShapeDtypeStruct((1, 4), jnp.int32))
    rng = np.random.default_rng(0)
    made = jax.tree.map(
        lambda s: jnp.asarray(0.02 * rng.standard_normal(s.shape, np.float32), dtype), shapes
    )
    return nn.take_apart(made, "layers")


def ours_hidden(job: Job) -> dict[str, Any]:
    """Our vectors of whole batches: the compiled program of `models.encode`."""
    import jax

    from barrow.models.roberta import encode

    dtype = "float32" if job.what == "cpu" else "bfloat16"
    model = our_model(job, dtype=dtype, unroll=True)
    params = our_params(model, dtype)
    body = encode.for_inference(model, params)
    tokens, lengths = arrays_of(job)
    # On an accelerator the batch is there already, as it is for the other side.
    tokens, lengths = jax.device_put((tokens, lengths))
    given = lengths if job.ragged else None
    held: list[Any] = [None]

    def run() -> None:
        held[0] = encode._pooled(body, params, tokens, given, layer=body.config.layers, pool="mean")

    def wait() -> None:
        jax.block_until_ready(held)

    found = measured(run, wait, job)
    if job.profile:
        sys.path.insert(0, os.path.dirname(__file__))
        from bench_train import kernels

        found["kernels"] = kernels(lambda: [run() for _ in range(3)], wait, 3)
    return found


def measured(run: Any, wait: Any, job: Job) -> dict[str, Any]:
    began = time.perf_counter()
    run()
    wait()
    found: dict[str, Any] = {"compile": time.perf_counter() - began}
    for _ in range(3):
        run()
    wait()
    return found | timed(run, wait, job)


def their_config(job: Job) -> Any:
    import transformers

    size = size_of(job)
    return transformers.RobertaConfig(
        vocab_size=size["vocab"],
        hidden_size=size["width"],
        num_hidden_layers=size["layers"],
        num_attention_heads=size["heads"],
        intermediate_size=size["hidden"],
        max_position_embeddings=514,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def theirs_hidden(job: Job) -> dict[str, Any]:
    """Mean vectors of transformers: eager float32 on a CPU, compiled bfloat16 on a GPU."""
    import torch
    import transformers

    torch.manual_seed(0)
    on_gpu = job.what == "embed" and torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    if not on_gpu:
        torch.set_num_threads(2)
    model = transformers.RobertaModel(their_config(job), add_pooling_layer=False).eval().to(device)
    if on_gpu:
        model = torch.compile(model.to(torch.bfloat16))
    tokens, lengths = (torch.tensor(x).to(device) for x in arrays_of(job))
    tokens = tokens.long()
    mask = (torch.arange(job.length, device=device) < lengths[:, None]).long()
    held: list[Any] = [None]

    def run() -> None:
        with torch.inference_mode():
            hidden = model(tokens, attention_mask=mask).last_hidden_state
            held[0] = (hidden * mask[..., None]).sum(1) / lengths[:, None]

    def wait() -> None:
        if on_gpu:
            torch.cuda.synchronize()

    return measured(run, wait, job)


def uneven_rows(job: Job) -> list[Any]:
    """Rows of log-normal lengths, as sentences and paragraphs have."""
    import numpy as np

    rng = np.random.default_rng(1)
    lengths = np.clip(rng.lognormal(3.4, 0.8, job.rows), 4, 512).astype(int)
    return [rng.integers(5, size_of(job)["vocab"], n).astype(np.int32) for n in lengths]


def ours_texts(job: Job) -> dict[str, Any]:
    """Vectors of uneven rows, by `encode.embed` as it comes."""
    from barrow.models.roberta.encode import embed

    model = our_model(job, dtype="bfloat16", unroll=True)
    params = our_params(model, "bfloat16")
    rows = uneven_rows(job)
    found = measured(lambda: list(embed(model, params, rows)), lambda: None, job)
    return found | {"tokens": sum(map(len, rows))}


def theirs_texts(job: Job) -> dict[str, Any]:
    """Vectors of uneven rows sorted by length, as sentence-transformers does."""
    import numpy as np
    import torch
    import transformers

    on_gpu = torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    model = transformers.RobertaModel(their_config(job), add_pooling_layer=False).eval()
    model = torch.compile(model.to(device, torch.bfloat16), dynamic=True)
    rows = sorted(uneven_rows(job), key=len, reverse=True)

    def run() -> None:
        waiting = []
        for start in range(0, len(rows), 256):
            some = rows[start : start + 256]
            length = max(map(len, some))
            tokens = np.stack([np.pad(r, (0, length - len(r)), constant_values=1) for r in some])
            given = torch.from_numpy(tokens).to(device, non_blocking=True).long()
            mask = (given != 1).long()
            with torch.inference_mode():
                hidden = model(given, attention_mask=mask).last_hidden_state
                summed = (hidden * mask[..., None]).sum(1, dtype=torch.float32)
                waiting.append(summed / mask.sum(1, keepdim=True))
        torch.cat(waiting).cpu()

    return measured(run, lambda: None, job) | {"tokens": sum(map(len, rows))}


def ours_bucketing(job: Job) -> dict[str, Any]:
    """Uneven rows through `encode.embed`."""
    import numpy as np

    from barrow.models.roberta.encode import embed

    model = our_model(job, dtype="float32", unroll=True)
    params = our_params(model, "float32")
    rows = uneven_rows(job)

    def run() -> None:
        if job.ahead > 1:
            list(embed(model, params, rows, ahead=job.ahead))
            return
        # In the order of arrival, 16 at a time, each batch as long as its longest.
        for start in range(0, len(rows), 16):
            some = rows[start : start + 16]
            length = max(map(len, some))
            filled = [np.concatenate([r, np.ones(length - len(r), np.int32)]) for r in some]
            list(embed(model, params, filled, tokens=1 << 20, ahead=16))

    return measured(run, lambda: None, job) | {"tokens": sum(map(len, rows))}


def masked_batch(job: Job) -> tuple[Any, Any, Any]:
    """Tokens, places [rows, num] that are masked, and what stood there."""
    import numpy as np

    rng = np.random.default_rng(0)
    tokens = rng.integers(5, size_of(job)["vocab"], (job.rows, job.length)).astype(np.int32)
    num = int(MASKED * job.length)
    places = np.stack([rng.permutation(job.length)[:num] for _ in range(job.rows)])
    places = np.sort(places, axis=1).astype(np.int32)
    targets = np.take_along_axis(tokens, places, 1)
    np.put_along_axis(tokens, places, 4, 1)
    return tokens, places, targets


def ours_mlm(job: Job) -> dict[str, Any]:
    """Barrow's training step with the head on masked places only."""
    import jax
    import jax.numpy as jnp

    from barrow.models.roberta.model import full_positions, head_weight
    from barrow.nn.cross_entropy import cross_entropy
    from barrow.train import (
        AdamW,
        Loss,
        Objective,
        Precision,
        StepSettings,
        init_state,
        make_step,
    )

    precision = Precision("bf16" if jax.default_backend() == "gpu" else "fp32")
    model = our_model(job, dtype=jnp.dtype(precision.dtype).name, unroll=True)

    def loss(params: Any, collections: Any, batch: Any, key: Any) -> Loss:
        positions = full_positions(model.config, job.length)
        hidden = model.apply(params, batch["tokens"], positions=positions)
        states = model.apply(params, hidden, batch["places"], method=model.head_states)
        weight, bias, transposed = head_weight(model.config, params)
        ones = jnp.ones(batch["places"].shape, jnp.float32)
        total = cross_entropy(
            states, weight, batch["targets"], ones, bias=bias, transposed=transposed
        )
        return Loss(total, ones.sum(), {}, collections)

    settings = StepSettings(precision)
    optimizer = AdamW().make(1000)
    shape = jax.ShapeDtypeStruct((1, 8), jnp.int32)
    state = init_state(lambda k: model.init(k, shape), optimizer, settings, jax.random.key(0))
    step = make_step(Objective(loss), optimizer, settings)
    tokens, places, targets = masked_batch(job)
    batch = jax.device_put({"tokens": tokens, "places": places, "targets": targets})
    held: list[Any] = [state]

    def run() -> None:
        held[:] = step(held[0], batch)

    found = measured(run, lambda: jax.block_until_ready(held), job)
    found["loss"] = float(held[1].loss.value)
    found["peak"] = (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
    return found


def theirs_mlm(job: Job) -> dict[str, Any]:
    """The step of transformers under accelerate, compiled; labels −100 but at masked places.

    Or, with the side "masked head", its head and loss on masked places alone.
    """
    import numpy as np
    import torch
    import transformers

    class MaskedHead(torch.nn.Module):
        """The same parameters; the head sees the states of masked places."""

        def __init__(self, whole: Any) -> None:
            super().__init__()
            self.whole = whole

        def forward(self, input_ids: Any, labels: Any) -> Any:
            states = self.whole.roberta(input_ids=input_ids).last_hidden_state
            at, wanted = labels
            at = at[..., None].expand(-1, -1, states.shape[-1])
            logits = self.whole.lm_head(torch.gather(states, 1, at))
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())
            return transformers.modeling_outputs.MaskedLMOutput(loss=loss)

    on_gpu = torch.cuda.is_available()
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = transformers.RobertaForMaskedLM(their_config(job)).train()
    options = {"lr": 3e-4, "betas": (0.9, 0.95), "weight_decay": 0.1}
    tokens, places, targets = masked_batch(job)
    labels = np.full(tokens.shape, -100, np.int64)
    np.put_along_axis(labels, places, targets, 1)
    given, wanted = torch.tensor(tokens).long(), torch.tensor(labels)
    if job.side == "masked head":
        model = MaskedHead(model)
        wanted = torch.stack([torch.tensor(places).long(), torch.tensor(targets).long()])
    if on_gpu:
        from accelerate import Accelerator

        accelerator = Accelerator(mixed_precision="bf16")
        model = model.to(accelerator.device)
        given, wanted = given.to(accelerator.device), wanted.to(accelerator.device)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True, **options)
        model = torch.compile(model) if job.compiled else model
        model, optimizer = accelerator.prepare(model, optimizer)
        backward, clip = accelerator.backward, accelerator.clip_grad_norm_
    else:
        torch.set_num_threads(2)
        optimizer = torch.optim.AdamW(model.parameters(), **options)
        backward, clip = torch.Tensor.backward, torch.nn.utils.clip_grad_norm_
    held: list[Any] = [None]

    def run() -> None:
        loss = model(input_ids=given, labels=wanted).loss
        backward(loss)
        clip(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        held[0] = loss.detach()

    def wait() -> None:
        if on_gpu:
            torch.cuda.synchronize()

    found = measured(run, wait, job)
    found["loss"] = float(held[0])
    found["peak"] = torch.cuda.max_memory_allocated() if on_gpu else 0
    return found


SIDES = {
    ("cpu", "barrow"): ours_hidden,
    ("cpu", "transformers"): theirs_hidden,
    ("embed", "barrow"): ours_hidden,
    ("embed", "transformers"): theirs_hidden,
    ("bucketing", "barrow"): ours_bucketing,
    ("texts", "barrow"): ours_texts,
    ("texts", "transformers"): theirs_texts,
    ("mlm", "barrow"): ours_mlm,
    ("mlm", "transformers"): theirs_mlm,
    ("mlm", "masked head"): theirs_mlm,
}


def measure(job: Job) -> dict[str, Any]:
    """The job in a process of its own; "failed" says why there is no figure."""
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    env["HF_HUB_OFFLINE"] = "1"
    if job.flags:
        env["XLA_FLAGS"] = f"{env.get('XLA_FLAGS', '')} {job.flags}".strip()
    if job.what in ("cpu", "bucketing"):
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


def side_by_side(title: str, jobs: dict[str, Job]) -> None:
    """A table of both sides; ratios are theirs to ours: above 1, ours is quicker."""
    print(f"\n## {title}\n")
    print("| batch | barrow tokens/s | transformers tokens/s | speed ratio | CPU seconds ratio |")
    print("|---|---:|---:|---:|---:|", flush=True)
    for name, job in jobs.items():
        both = [measure(replace(job, side=side)) for side in ("barrow", job.peer)]
        failed = [f["failed"] for f in both if "failed" in f]
        if failed:
            print(f"| {name} | failed: {failed[0]} | | | |", flush=True)
            continue
        ours, theirs = both
        speeds = [f.get("tokens", job.rows * job.length) / f["seconds"] for f in both]
        busy = theirs["cpu_seconds"] / ours["cpu_seconds"]
        extra = f" (loss {ours['loss']:.3f} / {theirs['loss']:.3f})" if "loss" in ours else ""
        print(
            f"| {name}{extra} | {speeds[0]:,.0f} | {speeds[1]:,.0f} | "
            f"{theirs['seconds'] / ours['seconds']:.3f} | {busy:.3f} |",
            flush=True,
        )


def bucketing(base: Job) -> None:
    """The gain of sorting by length within a look-ahead, by itself."""
    print("\n## Bucketing, barrow against itself\n")
    print("| order | real tokens/s | gain |")
    print("|---|---:|---:|", flush=True)
    first = 0.0
    for name, ahead in (("of arrival, 16 a batch", 1), ("by length, 2,048 ahead", 2048)):
        found = measure(replace(base, ahead=ahead))
        if "failed" in found:
            print(f"| {name} | failed: {found['failed']} | |", flush=True)
            continue
        speed = found["tokens"] / found["seconds"]
        first = first or speed
        print(f"| {name} | {speed:,.0f} | {speed / first:.2f} |", flush=True)


def versions() -> str:
    found = []
    for name in ("jax", "torch", "transformers", "accelerate"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["cpu"])
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        job = Job(**json.loads(args.one))
        print(json.dumps(SIDES[job.what, job.side](job)))
        return
    unknown = set(args.parts) - {what for what, _ in SIDES}
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}")
    print(f"# distilroberta-base; {platform.processor() or platform.machine()}, {versions()}")

    def job(what: str, rows: int, length: int, steps: int, **options: Any) -> Job:
        steps = args.steps or steps
        return Job(what, "barrow", rows, length, steps, args.rounds, small=args.small, **options)

    for part in args.parts:
        if part == "cpu":
            shapes = {(1, 16): 10, (1, 64): 5, (16, 128): 1, (4, 512): 1}
            jobs = {f"{r}×{n}": job("cpu", r, n, s) for (r, n), s in shapes.items()}
            jobs["16×128, ragged"] = job("cpu", 16, 128, 1, ragged=True)
            side_by_side("Hidden states on a CPU, float32, identical batches", jobs)
        elif part == "bucketing":
            bucketing(job("bucketing", 256, 512, 1))
        elif part == "embed":
            jobs = {}
            for rows, length in ((256, 128), (64, 512)):
                for ragged in (False, True):
                    name = f"{rows}×{length}{', ragged' if ragged else ''}"
                    jobs[name] = job("embed", rows, length, 20, ragged=ragged)
            side_by_side("Mean embeddings, bfloat16", jobs)
        elif part == "texts":
            jobs = {"8,192 texts, real tokens": job("texts", 8192, 512, 3)}
            side_by_side("Texts to mean embeddings on the host, bfloat16", jobs)
        elif part == "mlm":
            jobs = {
                "64×512": job("mlm", 64, 512, 20),
                "64×512, their head on masked places too": job(
                    "mlm", 64, 512, 20, peer="masked head"
                ),
            }
            side_by_side("Masked-LM training steps, bfloat16", jobs)


if __name__ == "__main__":
    main()
