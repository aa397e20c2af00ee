"""The engine of serve beside transformers, in one run.

    python benchmarks/bench_serve.py [--dtype float32] [--exact] [--start]
    python benchmarks/bench_serve.py --gpu [--exact] [--profile]

On a CPU: 8 requests at a time, random weights of SmolLM2-135M's shape, prompts of 64 tokens and 64
new ones, against transformers' `generate` of all as one batch in a process of its own. `--start`
splits the time to the first token of a fresh process whose programs are in the compilation cache.

With --gpu: 1.3 billion parameters of Llama's shape in bfloat16, 256 requests with prompts and
answers of 100 to 1,024 random tokens, all there from the start (nano-vllm's workload), against
transformers' continuous batching with the same lengths. The share of the memory-traffic limit in
decoding is the bytes of weights, keys and values that steps must read, at the measured speed of a
copy, over their time. `--profile` prints what a step's time is spent on.

`--exact` also measures the engine with exact answers, and counts how many of 200 requests that
arrive at random have the bits of the same requests alone.

Needs jax and numpy; torch and transformers for the peer, unless --alone.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import jax
import jax.numpy as jnp
import numpy as np

from barrow.models import Decoder, DecoderConfig
from barrow.models.decoder.generate import for_decoding
from barrow.nn.attention.rotary import Rotary
from barrow.serve import Choice, Engine, EngineSettings, Request

LLAMA: dict[str, Any] = {
    "norm": "rms",
    "norm_eps": 1e-5,
    "activation": "silu",
    "gated": True,
    "rotary": Rotary(),
    "attention_bias": False,
    "out_bias": False,
    "mlp_bias": False,
    "context": 2048,
}
SMALL = {"width": 576, "layers": 30, "heads": 9, "kv_heads": 3, "hidden": 1536}
LARGE = {"width": 2048, "layers": 24, "heads": 16, "hidden": 5504, "tied": False}
TINY = {"width": 64, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 160}
MODELS = {
    "smollm": DecoderConfig(vocab_size=49152, **SMALL, **LLAMA),
    "llama": DecoderConfig(vocab_size=32000, **LARGE, **LLAMA),
    "tiny": DecoderConfig(vocab_size=500, **TINY, **LLAMA),
}


def parameters(config: DecoderConfig, dtype: str) -> tuple[Decoder, Any]:
    """A model with random weights."""
    model = Decoder(config, dtype=dtype)
    shapes = jax.eval_shape(model.init, jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    leaves, structure = jax.tree.flatten(shapes)
    keys = jax.random.split(jax.random.key(0), len(leaves))
    made = [
        0.02 * jax.random.normal(key, leaf.shape, jnp.dtype(dtype))
        for key, leaf in zip(keys, leaves, strict=True)
    ]
    params = for_decoding(jax.tree.unflatten(structure, made))
    return model, jax.block_until_ready(params)


def workload(config: DecoderConfig, num: int, low: int, high: int) -> list[Request]:
    """Random prompts, and so many new tokens each."""
    rng = np.random.default_rng(0)
    return [
        Request(
            rng.integers(0, config.vocab_size, rng.integers(low, high + 1)).tolist(),
            int(rng.integers(low, high + 1)),
        )
        for _ in range(num)
    ]


def started(model: Decoder, params: Any, **settings: Any) -> Engine:
    """An engine, and how long it took."""
    start = time.perf_counter()
    engine = Engine(model, params, settings=EngineSettings(**settings))
    seconds = time.perf_counter() - start
    print(f"started in {seconds:.1f} s; {engine.programs.num_pages} pages", flush=True)
    return engine


def run(engine: Engine, requests: Sequence[Request]) -> tuple[float, list[Any]]:
    """Seconds of all, and the answers."""
    start = time.perf_counter()
    answers = [engine.submit(request) for request in requests]
    while not engine.is_idle:
        engine.step()
    return time.perf_counter() - start, answers


def speed(engine: Engine, requests: list[Request], name: str, times: int) -> float:
    """Tokens per second, the best of some runs after a short one that touches all memory."""
    run(engine, [Request(request.prompt, 4) for request in requests[:8]])
    best = 0.0
    for _ in range(times):
        used = time.process_time()
        seconds, answers = run(engine, requests)
        used = time.process_time() - used
        num = sum(len(answer.tokens) for answer in answers)
        print(
            f"{name}: {num} tokens in {seconds:.2f} s ({used:.2f} of processors), "
            f"{num / seconds:,.0f} tokens/s; {engine.scheduler.num_preempted} preempted",
            flush=True,
        )
        best = max(best, num / seconds)
    return best


def fill(engine: Engine, requests: Sequence[Request]) -> None:
    """Read all prompts; after this every step decodes one token of each request."""
    for request in requests:
        engine.submit(Request(request.prompt, engine._config.context - len(request.prompt)))
    while engine.scheduler.waiting or any(
        job.computed < job.target for job in engine.scheduler.running
    ):
        engine.step()
    for _ in range(4):
        engine.step()


def decoding(engine: Engine, params: Any, steps: int = 50) -> None:
    """Time of steps that only decode, beside the bytes they must read."""
    config = engine._config
    weights = sum(leaf.nbytes for leaf in jax.tree.leaves(params))
    if not config.tied:
        weights -= params["embed"]["table"].nbytes
    size = jax.tree.leaves(params)[0].dtype.itemsize
    place = 2 * config.layers * config.num_kv_heads * config.size_of_head * size
    start = time.perf_counter()
    places = 0
    for _ in range(steps):
        places += sum(job.computed + 1 for job in engine.scheduler.running)
        engine.step()
    seconds = (time.perf_counter() - start) / steps
    needed = (weights + place * places / steps) / copy_speed()
    rows = len(engine.scheduler.running)
    print(
        f"decoding {rows} rows of {places / steps / rows:.0f} tokens: {1e3 * seconds:.2f} ms a "
        f"step, {rows / seconds:,.0f} tokens/s; reading weights ({weights / 1e9:.2f} GB), keys and "
        f"values takes {1e3 * needed:.2f} ms: {needed / seconds:.0%} of the limit",
        flush=True,
    )


def copy_speed() -> float:
    """Bytes read and written per second by a large copy."""
    x = jnp.zeros(1 << 28, jnp.float32)
    add = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = add(x).block_until_ready()
    start = time.perf_counter()
    for _ in range(10):
        x = add(x)
    x.block_until_ready()
    return 10 * 2 * x.nbytes / (time.perf_counter() - start)


def profile(once: Callable[[], Any], steps: int = 5, most: int = 25) -> None:
    """What the time of a step is spent on; `once` starts one and returns an array of its end."""
    from barrow.train.profile.trace import WINDOW, read_trace

    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder), jax.profiler.TraceAnnotation(WINDOW):
            start = time.perf_counter()
            for _ in range(steps):
                last = once()
            jax.block_until_ready(last)
            wall = (time.perf_counter() - start) / steps
        found = read_trace(Path(folder))
    times: Counter[str] = Counter()
    nums: Counter[str] = Counter()
    for one in found.operations:
        name = one.name.rstrip("0123456789").rstrip(".")
        times[name] += one.end - one.start
        nums[name] += 1
    busy = sum(times.values()) / steps
    print(f"a step takes {1e3 * wall:.2f} ms with the profiler; operations {1e3 * busy:.2f} ms:")
    for name, total in times.most_common(most):
        print(f"  {1e3 * total / steps:8.3f} ms {nums[name] / steps:6.0f}×  {name[:90]}")


def drop(engine: Engine) -> None:
    """End all requests."""
    for job in [*engine.scheduler.running, *engine.scheduler.waiting]:
        engine.cancel(engine._open[job].answer)
    while not engine.is_idle:
        engine.step()


def exact_bits(engine: Engine, config: DecoderConfig, num: int) -> None:
    """Requests that arrive at random, beside the same alone: tokens and log-probabilities."""
    rng = np.random.default_rng(1)
    requests = [
        Request(
            rng.integers(0, config.vocab_size, rng.integers(1, 400)).tolist(),
            int(rng.integers(8, 25)),
            Choice(temperature=number % 3 / 2, top_p=0.9 if number % 2 else 1.0, seed=number),
        )
        for number in range(num)
    ]
    alone = [run(engine, [request])[1][0] for request in requests]
    together: list[Any] = []
    while len(together) < num or not engine.is_idle:
        for request in requests[len(together) : len(together) + int(rng.integers(0, 6))]:
            together.append(engine.submit(request))
        engine.step()
    same = sum(
        (a.tokens, a.logprobs) == (b.tokens, b.logprobs)
        for a, b in zip(alone, together, strict=True)
    )
    print(f"exact: {same} of {num} answers have the bits of the same request alone", flush=True)


def peer_speed() -> float:
    """Tokens per second of transformers in a process of its own, before ours starts.

    In the same process, after JAX has run, torch was five times slower on a CPU.
    """
    command = [sys.executable, __file__, *sys.argv[1:], "--peer"]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    lines = [line for line in found.splitlines() if line.endswith("tokens/s")]
    print("\n".join(lines) or "transformers failed", flush=True)
    return max(
        (float(line.split()[-2].replace(",", "")) for line in lines if " first:" not in line),
        default=0.0,
    )


def first_token(config: DecoderConfig, dtype: str) -> None:
    """In a fresh process: what passes until the first token."""
    began = float(os.environ["BEGAN"])
    imported = time.time()
    model, params = parameters(config, dtype)
    loaded = time.time()
    engine = Engine(model, params)
    ready = time.time()
    answer = engine.submit(Request(list(range(64)), 2))
    while not answer.tokens:
        engine.step()
    times = imported - began, loaded - imported, ready - loaded, time.time() - ready
    print(
        "first token after {:.1f} s: import {:.1f}, weights {:.1f}, programs {:.1f}, "
        "prompt {:.1f}".format(sum(times), *times),
        flush=True,
    )


def start_times() -> None:
    """A first start, which fills the compilation cache, and one that finds it."""
    with tempfile.TemporaryDirectory() as folder:
        known = {
            "JAX_COMPILATION_CACHE_DIR": folder,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        for _ in range(2):
            os.environ |= {**known, "BEGAN": str(time.time())}
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--first-token"], check=True)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"))
    for option in ("gpu", "exact", "profile", "start", "alone", "peer", "first-token"):
        parser.add_argument(f"--{option}", action="store_true")
    parser.add_argument("--at-a-time", type=int, default=128, help="requests of transformers")
    parser.add_argument("--patience", type=float, default=60, help="seconds for transformers")
    parser.add_argument("--tokens", type=int, help="room for keys and values")
    parser.add_argument("--parts", type=int)
    parser.add_argument("--slots", type=int)
    asked = parser.parse_args()
    config = MODELS[asked.model or ("llama" if asked.gpu else "smollm")]
    dtype = asked.dtype or ("bfloat16" if asked.gpu else "float32")
    if asked.first_token:
        first_token(config, dtype)
        return
    if asked.start:
        start_times()
        return
    requests = workload(config, *((256, 100, 1024) if asked.gpu else (8, 64, 64)))
    if asked.peer:
        import serve_peers

        if asked.gpu:
            serve_peers.generate_batch(config, requests, dtype, asked.at_a_time, asked.patience)
        serve_peers.generate(config, requests, dtype)
        return
    peer = 0.0 if asked.alone else peer_speed()
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind}, {os.cpu_count()} cores")
    settings: dict[str, Any] = {"slots": asked.slots, "max_tokens_in_flight": asked.tokens}
    if asked.parts:
        settings["parts"] = (asked.parts,)
    model, params = parameters(config, dtype)
    engine = started(model, params, **settings)
    ours = speed(engine, requests, f"barrow, {dtype}", 1 if asked.gpu else 3)
    if peer:
        print(f"ratio: {ours / peer:.2f}")
    fill(engine, requests)
    decoding(engine, params)
    if asked.profile:
        profile(lambda: (engine.step(), engine.programs._pool)[1])
    drop(engine)
    if asked.exact:
        del engine
        gc.collect()
        engine = started(model, params, exact=True, **settings)
        exact = speed(engine, requests, f"barrow exact, {dtype}", 1 if asked.gpu else 3)
        print(f"exact answers cost {1 - exact / ours:.0%}")
        exact_bits(engine, config, 200 if asked.gpu else 20)


if __name__ == "__main__":
    main()
