"""The engine of serve beside transformers, in one run.

    python benchmarks/bench_serve.py [--model smollm|llama|tiny] [--exact] [--gpu]

On a CPU: 8 requests at a time, random weights of SmolLM2-135M's shape, prompts of 64 tokens and 64
new ones, against transformers' `generate` of all as one batch. With --gpu: 1.3 billion parameters
of Llama's shape in bfloat16, 256 requests with prompts and answers of 100 to 1,024 random tokens,
all there from the start, against transformers' continuous batching (what `generate_batch` uses)
with the same lengths. Prints tokens per second of both, their ratio, the time to compile, and with
--gpu the share of the memory-traffic limit in decoding: bytes of weights and of keys and values
that steps must read, over the time at the measured speed of a copy. --exact also measures the
engine with exact answers, and that a few of them have the bits of the same requests alone.

Needs jax and numpy; torch and transformers for the peer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs memory too
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import jax
import jax.numpy as jnp
import numpy as np

from barrow.models import Decoder, DecoderConfig
from barrow.models.decoder.generate import for_decoding
from barrow.nn.attention.rotary import Rotary
from barrow.serve import Engine, EngineSettings, Request

LLAMA: dict[str, Any] = {
    "norm": "rms",
    "norm_eps": 1e-5,
    "activation": "silu",
    "gated": True,
    "rotary": Rotary(),
    "attention_bias": False,
    "out_bias": False,
    "mlp_bias": False,
}
MODELS = {
    "smollm": DecoderConfig(
        vocab_size=49152,
        width=576,
        layers=30,
        heads=9,
        kv_heads=3,
        hidden=1536,
        context=2048,
        **LLAMA,
    ),
    "llama": DecoderConfig(
        vocab_size=32000,
        width=2048,
        layers=24,
        heads=16,
        hidden=5504,
        context=2048,
        tied=False,
        **LLAMA,
    ),
    "tiny": DecoderConfig(
        vocab_size=500, width=64, layers=2, heads=4, kv_heads=2, hidden=160, context=2048, **LLAMA
    ),
}


def parameters(config: DecoderConfig, dtype: str) -> tuple[Decoder, Any]:
    """A model with random weights; zeros would be skipped by nothing, but all logits equal."""
    model = Decoder(config, dtype=dtype)
    shapes = jax.eval_shape(model.init, jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    leaves, structure = jax.tree.flatten(shapes)
    keys = jax.random.split(jax.random.key(0), len(leaves))
    made = [
        0.02 * jax.random.normal(key, leaf.shape, jnp.dtype(dtype))
        for key, leaf in zip(keys, leaves, strict=True)
    ]
    return model, for_decoding(jax.tree.unflatten(structure, made))


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


def run(engine: Engine, requests: Sequence[Request]) -> tuple[float, list[Any]]:
    """Seconds of all, and the answers."""
    start = time.perf_counter()
    answers = [engine.submit(request) for request in requests]
    while not engine.is_idle:
        engine.step()
    return time.perf_counter() - start, answers


def ours(config: DecoderConfig, requests: list[Request], dtype: str, **settings: Any) -> float:
    """Tokens per second of the second run: the first touches all memory."""
    model, params = parameters(config, dtype)
    jax.block_until_ready(params)
    start = time.perf_counter()
    engine = Engine(model, params, settings=EngineSettings(**settings))
    compiled = time.perf_counter() - start
    exact = settings.get("exact", False)
    run(engine, requests if len(requests) <= 8 else requests[: len(requests) // 8])
    seconds, answers = run(engine, requests)
    num = sum(len(answer.tokens) for answer in answers)
    name = "barrow exact" if exact else "barrow"
    print(
        f"{name}: {num} tokens in {seconds:.2f} s, {num / seconds:,.0f} tokens/s; compiled in "
        f"{compiled:.1f} s; {engine.programs.num_pages} pages, "
        f"{engine.scheduler.num_preempted} preempted"
    )
    if jax.default_backend() != "cpu":
        limit = traffic(config, params, requests, engine.programs.num_slots) / copy_speed()
        print(
            f"{name}: reading weights, keys and values alone takes {limit:.2f} s, "
            f"{limit / seconds:.0%}"
        )
    if exact:
        same = 0
        for request, answer in list(zip(requests, answers, strict=True))[:4]:
            alone = run(engine, [request])[1][0]
            same += (alone.tokens, alone.logprobs) == (answer.tokens, answer.logprobs)
        print(f"{name}: {same} of 4 answers have the bits of the request alone")
    return num / seconds


def traffic(config: DecoderConfig, params: Any, requests: list[Request], slots: int) -> float:
    """Bytes that decoding reads at least: weights in each step, keys and values of each token."""
    weights = sum(leaf.nbytes for leaf in jax.tree.leaves(params))
    if not config.tied:
        weights -= params["embed"]["table"].nbytes
    steps = max(sum(r.max_tokens for r in requests) / slots, max(r.max_tokens for r in requests))
    size = jax.tree.leaves(params)[0].dtype.itemsize
    place = 2 * config.layers * config.num_kv_heads * config.size_of_head * size
    seen = sum(r.max_tokens * (len(r.prompt) + r.max_tokens / 2) for r in requests)
    return float(steps * weights + place * seen)


def copy_speed() -> float:
    """Bytes read and written per second by a large copy."""
    x = jnp.zeros(1 << 29, jnp.bfloat16)
    add = jax.jit(lambda x: x + 1)
    add(x).block_until_ready()
    start = time.perf_counter()
    for _ in range(10):
        x = add(x)
    x.block_until_ready()
    return 10 * 2 * x.nbytes / (time.perf_counter() - start)


def theirs(config: DecoderConfig, requests: list[Request], dtype: str, *, batched: bool) -> float:
    """Tokens per second of transformers."""
    import torch
    import transformers

    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.width,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.num_kv_heads,
            intermediate_size=config.hidden,
            max_position_embeddings=config.context,
            tie_word_embeddings=config.tied,
            eos_token_id=None,
            pad_token_id=0,
        )
    ).to(getattr(torch, dtype))
    model = model.eval()
    if batched:
        ids = torch.tensor([list(request.prompt) for request in requests])
        num = requests[0].max_tokens

        def once() -> int:
            with torch.no_grad():
                model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=num,
                    min_new_tokens=num,
                    do_sample=False,
                )
            return num * len(requests)
    else:
        model = model.cuda()
        config_ = transformers.GenerationConfig(
            max_new_tokens=1024, do_sample=False, eos_token_id=-1, pad_token_id=0
        )

        def once() -> int:
            manager = model.init_continuous_batching(generation_config=config_)
            manager.start()
            for number, request in enumerate(requests):
                manager.add_request(
                    list(request.prompt), request_id=str(number), max_new_tokens=request.max_tokens
                )
            num, left = 0, len(requests)
            while left:
                result = manager.get_result(timeout=60)
                if result is None:
                    raise RuntimeError("transformers gave no result for a minute")
                if result.is_finished():
                    num += len(result.generated_tokens)
                    left -= 1
            manager.stop(block=True)
            return num

    once()
    start = time.perf_counter()
    num = once()
    seconds = time.perf_counter() - start
    print(
        f"transformers {version('transformers')}: {num} tokens in {seconds:.2f} s, "
        f"{num / seconds:,.0f} tokens/s"
    )
    return num / seconds


def peer_speed() -> float:
    """Tokens per second of transformers in a process of its own, before ours starts.

    In the same process, after JAX has run, torch was five times slower on a CPU.
    """
    command = [sys.executable, __file__, *sys.argv[1:], "--peer"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    line = found.splitlines()[-1]
    print(line)
    return float(line.split(", ")[-1].removesuffix(" tokens/s").replace(",", ""))


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--alone", action="store_true", help="without transformers")
    parser.add_argument("--peer", action="store_true", help="transformers alone")
    asked = parser.parse_args()
    config = MODELS[asked.model or ("llama" if asked.gpu else "smollm")]
    dtype = "bfloat16" if asked.gpu else "float32"
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind}, {os.cpu_count()} cores")
    if asked.gpu:
        requests, settings = (
            workload(config, 256, 100, 1024),
            {"max_tokens_in_flight": 1 << 18, "parts": (8,)},
        )
    else:
        requests = [Request(r.prompt, 64) for r in workload(config, 8, 64, 64)]
        settings = {"slots": 8}
    if asked.peer:
        theirs(config, requests, dtype, batched=not asked.gpu)
        return
    peer = 0.0 if asked.alone else peer_speed()
    speed = ours(config, requests, dtype, **settings)
    if asked.exact:
        exact = ours(config, requests, dtype, exact=True, **settings)
        print(f"exact answers cost {1 - exact / speed:.0%}")
    if not asked.alone:
        print(f"ratio: {speed / peer:.2f}")


if __name__ == "__main__":
    main()
