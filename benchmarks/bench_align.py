"""A step of GRPO: rollouts, measuring and updates, beside transformers for the rollouts.

    python benchmarks/bench_align.py [--model smollm|tiny] [--prompts 64] [--answers 8]
        [--tokens 256] [--micro 16] [--lora] [--alone]

Random weights of SmolLM2-135M's shape, prompts of 64 random tokens, answers of full length. In
bfloat16 on a GPU, float32 on a CPU. Prints seconds of rollouts and of the whole step, the share of
rollouts, tokens per second, the gap between the sampler's log-probabilities and the update's, the
share of tokens whose ratio is outside 0.9 to 1.1, and memory; then fused log-probabilities with
entropy beside the plain ones: time and temporary memory; then, unless --alone, transformers'
continuous batching (in a process of its own) on the same prompts.

Needs jax, numpy and optax; torch and transformers for the peer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs memory too
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import jax
import jax.numpy as jnp
import numpy as np
import optax

from barrow.align.data.records import Prompt
from barrow.align.lora import Lora
from barrow.align.model import BASE, AlignedConfig
from barrow.align.rollouts.keep import Kept
from barrow.align.rollouts.objective import PolicyObjective
from barrow.align.rollouts.programs import Programs
from barrow.align.rollouts.prompts import PromptData
from barrow.align.rollouts.rewards import Weighed
from barrow.align.rollouts.sampler import Sampler
from barrow.align.rollouts.settings import Policy, Prompts
from barrow.align.rollouts.step import RolloutStep
from barrow.nn.layers.repeat import take_apart
from barrow.nn.token_logprobs import token_logprobs
from barrow.nn.tree import Tree
from barrow.serve import Request
from barrow.train.precision import Precision
from barrow.train.step import StepSettings, init_state
from bench_serve import MODELS

LENGTH = 64


class Wordless:
    """In place of a tokenizer: random weights have nothing to say."""

    stops: tuple[int, ...] = ()
    end = None

    @property
    def tokenizer(self) -> Any:
        return self

    def decode(self, ids: Any) -> str:
        return "".join(chr(97 + int(i) % 26) for i in ids)

    decode_marked = decode


def worth(prompt: str, answer: str, record: Mapping[str, Any]) -> float:
    del prompt, record
    return answer.count("a") / max(1, len(answer))


def made(given: argparse.Namespace, dtype: str) -> tuple[RolloutStep, Any]:
    """The step and a state."""
    body = MODELS[given.model]
    lora = Lora(16, 32.0) if given.lora else None
    config = AlignedConfig(body, lora, frozen=dtype)
    model = config.module(unroll=given.lora, dtype=dtype)
    step = StepSettings(precision=Precision("bf16" if dtype == "bfloat16" else "fp32"))
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, body.vocab_size, (given.prompts, LENGTH))
    prompts = list(drawn.astype(np.int32))
    data = Prompts("", given.prompts, given.answers, given.tokens, slots=given.slots)
    policy = Policy("grpo", (Weighed(worth),))
    records = [Prompt(str(n), "", {}) for n in range(given.prompts)]
    words: Any = Wordless()
    optimizer = optax.adamw(1e-6)
    objective = PolicyObjective(model, policy)
    rows = given.prompts * given.answers

    def init(key: jax.Array) -> Any:
        params = model.init(key, *config.example)
        return take_apart(params, "layers") if given.lora else params

    state = init_state(init, optimizer, step, jax.random.key(0))
    if given.lora:
        whole = jax.jit(lambda: model.body.init(jax.random.key(1), *config.example))()
        base = jax.tree.map(lambda x: x.astype(dtype), take_apart(whole, "layers"))
        state = replace(state, collections=Tree({BASE: base}))
    made = RolloutStep(
        objective,
        Programs(objective, optimizer, step, None),
        Sampler(model, dtype=dtype, slots=given.slots, tokens=LENGTH + given.tokens),
        PromptData(data, words, prompts, records, body.context),
        Kept(None),
        max(1, rows // given.micro),
    )
    return made, state


def ours(given: argparse.Namespace, dtype: str) -> float:
    """Tokens per second of rollouts; prints the rest."""
    step, state = made(given, dtype)
    batch = {"items": np.arange(given.prompts)}
    drawing: list[float] = []
    draw = step.sampler.draw

    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        found = draw(*args, **kwargs)
        drawing.append(time.perf_counter() - start)
        return found

    step.sampler.draw = timed  # type: ignore[method-assign]
    total = []
    for _ in range(3):
        start = time.perf_counter()
        state, metrics = step(state, batch)
        jax.block_until_ready(state)
        total.append(time.perf_counter() - start)
    num = given.prompts * given.answers * given.tokens
    print(f"first step, with compilation: {total[0]:.1f} s")
    seconds, rollouts = min(total[1:]), min(drawing[1:])
    print(
        f"a step of {given.prompts} × {given.answers} × {given.tokens}: {seconds:.2f} s, rollouts "
        f"{rollouts:.2f} s ({rollouts / seconds:.0%}); {num / seconds:,.0f} tokens/s, rollouts "
        f"alone {num / rollouts:,.0f}"
    )
    told = {name: float(mean.value) for name, mean in metrics.metrics.items()}
    print(
        f"gap {told['gap']:.5f} nats, {told['gap_out']:.2%} of tokens outside 0.9 to 1.1; "
        "first ratios are exactly 1 (or it would have stopped)"
    )
    known = jax.local_devices()[0].memory_stats() or {}
    if known:
        print(f"highest memory {known['peak_bytes_in_use'] / 1e9:.1f} GB")
    return num / rollouts


def plain(hidden: jax.Array, weight: jax.Array, targets: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Log-probabilities and entropies of whole logits."""
    logits = jnp.einsum("blw,vw->blv", hidden, weight, preferred_element_type=jnp.float32)
    logs = jax.nn.log_softmax(logits)
    entropy = -jnp.sum(jnp.exp(logs) * logs, axis=-1)
    return jnp.take_along_axis(logs, targets[..., None], axis=-1)[..., 0], entropy


def heads(given: argparse.Namespace, dtype: str) -> None:
    """Fused and plain log-probabilities with their gradients."""
    body = MODELS[given.model]
    rows, length = given.micro, LENGTH + given.tokens
    keys = jax.random.split(jax.random.key(0), 3)
    hidden = jax.random.normal(keys[0], (rows, length, body.width), dtype)
    weight = 0.02 * jax.random.normal(keys[1], (body.vocab_size, body.width), dtype)
    targets = jax.random.randint(keys[2], (rows, length), 0, body.vocab_size)
    ways = {
        "fused": partial(token_logprobs, transposed=True, held=1 << 26),
        "plain": plain,
    }
    for name, way in ways.items():

        def total(h: jax.Array, w: jax.Array, t: jax.Array, way: Any = way) -> Any:
            logprobs, entropy = way(h, w, t)
            return logprobs.sum(), entropy.sum()

        run = jax.jit(jax.value_and_grad(total, (0, 1), has_aux=True))
        compiled = run.lower(hidden, weight, targets).compile()
        temporary = compiled.memory_analysis().temp_size_in_bytes
        jax.block_until_ready(compiled(hidden, weight, targets))
        start = time.perf_counter()
        for _ in range(3):
            jax.block_until_ready(compiled(hidden, weight, targets))
        spent = (time.perf_counter() - start) / 3
        size = f"{temporary / 1e9:.2f} GB"
        print(f"log-probabilities and entropy, {name}: {1000 * spent:.1f} ms, {size}")


def peer_speed() -> float:
    """Tokens per second of transformers in a process of its own."""
    words = [sys.executable, __file__, "--peer", *sys.argv[1:]]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    lines = [line for line in found.stdout.splitlines() if line.endswith("tokens/s")]
    print("\n".join(lines) or f"transformers failed: {found.stderr.strip().splitlines()[-1:]}")
    speeds = [line.split()[-2].replace(",", "") for line in lines if " first:" not in line]
    return max(map(float, speeds), default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm", choices=MODELS)
    for name, default in (("prompts", 64), ("answers", 8), ("tokens", 256), ("micro", 16)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--slots", type=int)
    parser.add_argument("--lora", action="store_true")
    parser.add_argument("--alone", action="store_true", help="without transformers")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    is_gpu = jax.default_backend() != "cpu"
    dtype = "bfloat16" if is_gpu else "float32"
    if given.peer:
        rng = np.random.default_rng(0)
        vocab = MODELS[given.model].vocab_size
        prompts = [rng.integers(0, vocab, LENGTH).tolist() for _ in range(given.prompts)]
        requests = [Request(p, given.tokens) for p in prompts for _ in range(given.answers)]
        import serve_peers

        peer_of = serve_peers.generate_batch if is_gpu else serve_peers.generate
        peer_of(MODELS[given.model], requests, dtype)
        return
    peer = 0.0 if given.alone else peer_speed()  # before ours has memory of the device
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, {dtype}")
    speed = ours(given, dtype)
    if peer:
        print(f"rollouts beside transformers: {speed / peer:.2f} times as fast")
    heads(given, dtype)


if __name__ == "__main__":
    main()
