"""The decoder beside hand-written JAX and beside transformers, in one run.

    python benchmarks/bench_decoder.py [forward] [decode] [first] [--models gpt2 llama] [--dtype …]

forward: a compiled forward pass against the same network written by hand in plain JAX (raw dicts
and functions), both with layers scanned and both unrolled; runs take turns, medians are compared.
decode: greedy decoding with a cache, random weights, tokens per second after the first token,
against transformers: with a static cache and torch.compile on a GPU, eager on a CPU.
first: time to the first token of a cold process: imports, weights, trace, compile, run; without and
with the persistent compilation cache, and transformers eager.

Needs jax, numpy, safetensors; torch and transformers for the peers. --models tiny tries it out.
"""

# ruff: noqa: E402
from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

START = time.perf_counter()
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs memory too
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import jax
import jax.numpy as jnp
import numpy as np

from barrow.models import Decoder, DecoderConfig, save, stream
from barrow.models.decoder.decoding import prefill, row_keys
from barrow.models.decoder.generate import for_decoding
from barrow.models.decoder.sampling import GREEDY, chooser
from barrow.models.load import load
from barrow.nn.attention.rotary import Rotary

IMPORTED = time.perf_counter()
LLAMA = {
    "norm": "rms",
    "norm_eps": 1e-6,
    "activation": "silu",
    "gated": True,
    "rotary": Rotary(),
    "attention_bias": False,
    "out_bias": False,
    "mlp_bias": False,
    "tied": False,
}
MODELS: dict[str, DecoderConfig] = {
    "gpt2": DecoderConfig(),
    "llama": DecoderConfig(
        vocab_size=32000, width=2048, layers=24, heads=16, hidden=5504, context=2048, **LLAMA
    ),
    "tiny-gpt2": DecoderConfig(
        vocab_size=500, width=64, layers=3, heads=4, hidden=256, context=512
    ),
    "tiny-llama": DecoderConfig(
        vocab_size=500, width=64, layers=3, heads=4, hidden=160, context=512, **LLAMA
    ),
}


# Hand-written -------------------------------------------------------------------------------------


def by_hand(config: DecoderConfig, *, scanned: bool, dtype: Any) -> Callable[[Any, Any], Any]:
    """Logits of tokens, as one would write this one network without any library of modules."""
    heads, dim = config.heads, config.size_of_head

    def norm(p: Any, x: Any) -> Any:
        y = x.astype(jnp.float32)
        if config.norm == "rms":
            y = y * jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + config.norm_eps)
            return (y * p["scale"].astype(jnp.float32)).astype(x.dtype)
        y = y - jnp.mean(y, -1, keepdims=True)
        y = y * jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + config.norm_eps)
        y = y * p["scale"].astype(jnp.float32) + p["bias"].astype(jnp.float32)
        return y.astype(x.dtype)

    def linear(p: Any, x: Any) -> Any:
        y = x @ p["kernel"].reshape(x.shape[-1], -1)
        return y + p["bias"].reshape(-1) if "bias" in p else y

    def turn(x: Any) -> Any:
        angles = jnp.arange(x.shape[1], dtype=jnp.float32)[:, None, None] * (
            10_000.0 ** (-jnp.arange(0, dim, 2, dtype=jnp.float32) / dim)
        )
        cos, sin = jnp.cos(angles), jnp.sin(angles)
        a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(x.dtype)

    def attend(p: Any, x: Any) -> Any:
        q, k, v = (linear(p[n], x).reshape(*x.shape[:2], heads, dim) for n in "qkv")
        if config.rotary is not None:
            q, k = turn(q), turn(k)
        if jax.default_backend() == "gpu" and dtype != jnp.float32:
            y = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
        else:
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32)
            seen = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
            scores = jnp.where(seen, scores / dim**0.5, jnp.finfo(jnp.float32).min)
            y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(v.dtype), v)
        out = y.reshape(*x.shape[:2], heads * dim) @ p["out"]["kernel"].reshape(heads * dim, -1)
        return out + p["out"]["bias"] if "bias" in p["out"] else out

    def feed(p: Any, x: Any) -> Any:
        if config.gated:
            return linear(p["down"], jax.nn.silu(linear(p["gate"], x)) * linear(p["up"], x))
        return linear(p["down"], jax.nn.gelu(linear(p["up"], x), approximate=True))

    def layer(x: Any, p: Any) -> tuple[Any, None]:
        x = x + attend(p["attention"], norm(p["attention_norm"], x))
        return x + feed(p["mlp"], norm(p["mlp_norm"], x)), None

    def forward(params: Any, tokens: Any) -> Any:
        x = params["embed"]["table"][tokens]
        if config.rotary is None:
            x = x + params["positions"]["table"][: tokens.shape[1]]
        if scanned:
            x, _ = jax.lax.scan(layer, x, params["layers"])
        else:
            for i in range(config.layers):
                x, _ = layer(x, jax.tree.map(lambda leaf, i=i: leaf[i], params["layers"]))
        x = norm(params["norm"], x)
        if config.tied:
            return x @ params["embed"]["table"].T
        return x @ params["head"]["kernel"]

    return forward


def as_dicts(tree: Any) -> Any:
    return {k: as_dicts(v) if hasattr(v, "items") else v for k, v in tree.items()}


# Measuring ----------------------------------------------------------------------------------------


def random_params(config: DecoderConfig, dtype: str) -> Any:
    def make() -> Any:
        made = Decoder(config).init(jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
        return jax.tree.map(lambda x: x.astype(dtype), made)

    return jax.jit(make)()


def taking_turns(runs: dict[str, Callable[[], Any]], passes: int) -> dict[str, float]:
    """Median seconds of each, run one after another so that drift hits all alike."""
    for run in runs.values():
        jax.block_until_ready(run())
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(passes):
        for name, run in runs.items():
            start = time.perf_counter()
            jax.block_until_ready(run())
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in seconds.items()}


def measure_forward(name: str, options: argparse.Namespace) -> None:
    config, dtype = MODELS[name], options.dtype
    params = random_params(config, dtype)
    raw = as_dicts(params)
    shape = (options.rows, min(options.length, config.context))
    rng = np.random.default_rng(0)
    tokens = jnp.asarray(rng.integers(0, config.vocab_size, shape), jnp.int32)
    for way in ("scanned", "unrolled"):
        model = Decoder(config, unroll=way == "unrolled", dtype=dtype)
        ours = jax.jit(lambda p, t, m=model: m.apply(p, t)[0])
        hand = jax.jit(by_hand(config, scanned=way == "scanned", dtype=jnp.dtype(dtype)))
        apart = jnp.max(jnp.abs(ours(params, tokens) - hand(raw, tokens)))
        runs = {"ours": partial(ours, params, tokens), "hand": partial(hand, raw, tokens)}
        found = taking_turns(runs, options.passes)
        print(
            f"| {name} forward {shape[0]}×{shape[1]}, {way} | {1e3 * found['ours']:.2f} ms | "
            f"by hand {1e3 * found['hand']:.2f} ms | {found['hand'] / found['ours']:.3f} "
            f"(logits differ by {float(apart):.1g}) |",
            flush=True,
        )


def prompts_of(config: DecoderConfig, batch: int, length: int) -> list[list[int]]:
    found: list[list[int]] = (
        np.random.default_rng(0).integers(0, config.vocab_size, (batch, length)).tolist()
    )
    return found


def ours_per_second(name: str, batch: int, options: argparse.Namespace) -> float:
    config = MODELS[name]
    model = Decoder(config, dtype=options.dtype)
    params = for_decoding(random_params(config, options.dtype))
    jax.block_until_ready(params)
    prompts, num = prompts_of(config, batch, options.prompt), options.new_tokens
    rates = []
    for _ in range(1 + options.decode_passes):
        pieces = stream(model, params, prompts, max_tokens=num, chunk=num)
        next(pieces)
        start = time.perf_counter()
        written = sum(len(row) for piece in pieces for row in piece)
        rates.append(written / (time.perf_counter() - start))
    return max(rates[1:])


def transformers_model(name: str, dtype: str) -> Any:
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    config = MODELS[name]
    ids = {"bos_token_id": None, "eos_token_id": None}
    if config.rotary is None:
        theirs: Any = transformers.GPT2Config(
            vocab_size=config.vocab_size,
            n_embd=config.width,
            n_layer=config.layers,
            n_head=config.heads,
            n_positions=config.context,
            **ids,
        )
    else:
        theirs = transformers.LlamaConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.width,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.num_kv_heads,
            intermediate_size=config.hidden,
            max_position_embeddings=config.context,
            **ids,
        )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.device(device):
        model = transformers.AutoModelForCausalLM.from_config(theirs)
    return model.to(getattr(torch, dtype)).eval()


def theirs_per_second(name: str, batch: int, options: argparse.Namespace, how: str) -> float:
    """`how` the peer is compiled: by its own generate, by us without CUDA graphs, or not at all."""
    import torch

    torch.compiler.reset()
    model = transformers_model(name, options.dtype)
    ids = torch.tensor(prompts_of(MODELS[name], batch, options.prompt), device=model.device)
    static = {} if how == "eager" else {"cache_implementation": "static"}
    if how == "torch.compile":
        static["disable_compile"] = True
        model.forward = torch.compile(model.forward)

    def run(num: int) -> float:
        start = time.perf_counter()
        with torch.inference_mode():
            model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=num,
                min_new_tokens=num,
                do_sample=False,
                pad_token_id=0,
                **static,
            )
        if model.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start

    num = options.new_tokens
    rates = []
    for _ in range(2 + options.decode_passes):  # compiled graphs are recorded in the second pass
        whole = run(num)
        rates.append(batch * (num - 1) / (whole - run(1)))
    return max(rates[2:])


def measure_decode(name: str, options: argparse.Namespace) -> None:
    ways = ["generate's own compilation", "torch.compile"] if options.compile_peer else ["eager"]
    for batch in options.batches:
        ours = ours_per_second(name, batch, options)
        for how in ways:
            line = f"| {name} decode, batch {batch} | {ours:,.0f} tokens/s | transformers, {how}"
            try:
                theirs = theirs_per_second(name, batch, options, how)
            except Exception as error:  # a peer that does not run is said, not hidden
                print(f"{line}: {' '.join(str(error).split())[:120]} | |", flush=True)
                continue
            print(f"{line} {theirs:,.0f} tokens/s | {ours / theirs:.2f} |", flush=True)


# Time to the first token --------------------------------------------------------------------------


def first_token(name: str, options: argparse.Namespace) -> None:
    """In a process of its own; prints seconds of each stage."""
    del name
    if options.cache:
        jax.config.update("jax_compilation_cache_dir", options.cache)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    begun = time.perf_counter()
    loaded = load(options.folder, unstack=True)
    params, model = jax.block_until_ready(loaded.params), loaded.model
    ready = time.perf_counter()
    tokens = jnp.ones((1, 16), jnp.int32)
    given = (params, tokens, jnp.asarray([16]), row_keys(0, 1), chooser(GREEDY), jnp.asarray([-2]))
    lowered = prefill.lower(model, *given, capacity=64)
    traced = time.perf_counter()
    compiled = lowered.compile()
    built = time.perf_counter()
    jax.block_until_ready(compiled(*given))
    done = time.perf_counter()
    print(
        IMPORTED - START, ready - begun, traced - ready, built - traced, done - built, done - START
    )


def their_first_token(name: str, options: argparse.Namespace) -> None:
    del name
    start = time.perf_counter()
    import torch
    import transformers

    imported = time.perf_counter()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = transformers.AutoModelForCausalLM.from_pretrained(options.folder, dtype="auto")
    model = model.to(device).eval()
    ready = time.perf_counter()
    ids = torch.ones((1, 16), dtype=torch.long, device=model.device)
    with torch.inference_mode():
        model.generate(ids, max_new_tokens=1, do_sample=False, pad_token_id=0).tolist()
    done = time.perf_counter()
    print(imported - start, ready - imported, 0.0, 0.0, done - ready, done - start)


def measure_first(name: str, options: argparse.Namespace) -> None:
    print("\n| | imports | weights | trace | compile | run | all |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        config = MODELS[name]
        weights = f"{folder}/model"
        save(weights, Decoder(config), random_params(config, options.dtype))
        runs = {
            "no cache": ("ours", ""),
            "cache, first time": ("ours", f"{folder}/compiled"),
            "cache, second time": ("ours", f"{folder}/compiled"),
            "transformers eager": ("theirs", ""),
        }
        for what, (task, cache) in runs.items():
            command = [sys.executable, __file__, "--task", task, "--models", name]
            command += ["--dtype", options.dtype, "--cache", cache, "--folder", weights]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode:
                print(f"| {name}: {what} | {run.stderr.strip().splitlines()[-1:]} |")
                continue
            cells = [f"{float(x):.2f} s" for x in run.stdout.split()[-6:]]
            print(f"| {name}: {what} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", default=["forward", "decode", "first"])
    parser.add_argument("--models", nargs="+", default=["gpt2", "llama"])
    parser.add_argument("--dtype", default=None, help="bfloat16 on a GPU, float32 on a CPU")
    parser.add_argument("--rows", type=int, default=None, help="forward: rows of a batch")
    parser.add_argument("--length", type=int, default=1024, help="forward: tokens of a row")
    parser.add_argument("--passes", type=int, default=30)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--prompt", type=int, default=32, help="decode: tokens of a prompt")
    parser.add_argument("--new-tokens", type=int, default=256)
    parser.add_argument("--decode-passes", type=int, default=3)
    parser.add_argument("--task", choices=["ours", "theirs"], help=argparse.SUPPRESS)
    parser.add_argument("--cache", default="", help=argparse.SUPPRESS)
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    on_gpu = options.task != "theirs" and jax.default_backend() == "gpu"
    options.dtype = options.dtype or ("bfloat16" if on_gpu else "float32")
    options.rows = options.rows or (8 if on_gpu else 1)
    options.compile_peer = on_gpu
    if options.task:
        (first_token if options.task == "ours" else their_first_token)(options.models[0], options)
        return
    names = [
        n for m in options.models for n in (["tiny-gpt2", "tiny-llama"] if m == "tiny" else [m])
    ]
    device = jax.devices()[0]
    print(
        f"{device.device_kind}, {platform.machine()}, {os.cpu_count()} cores, {options.dtype}; "
        f"Python {platform.python_version()}, "
        + ", ".join(f"{p} {_version(p)}" for p in ("jax", "torch", "transformers"))
    )
    print("\n| what | barrow | peer | ratio (above 1: barrow is faster) |\n|---|---|---|---|")
    for part, measure in (("forward", measure_forward), ("decode", measure_decode)):
        for name in names if part in options.parts else ():
            measure(name, options)
    for name in names if "first" in options.parts else ():
        measure_first(name, options)


def _version(package: str) -> str:
    try:
        return version(package)
    except Exception:
        return "absent"


if __name__ == "__main__":
    main()
