"""A step of GRPO: rollouts, measuring and updates, beside TRL's trainer and transformers.

    python benchmarks/bench_align.py [--model smollm|tiny] [--prompts 64] [--answers 8]
        [--tokens 256] [--micro 64] [--slots N] [--lora] [--sharp 1] [--profile]
        [--peers trl,batch] [--heads]

Random weights of SmolLM2-135M's shape, prompts of 64 random tokens, answers of full length. In
bfloat16 on a GPU, float32 on a CPU. Prints seconds of rollouts, measuring and the whole step, the
share of rollouts, tokens per second, the gap between the sampler's log-probabilities and the
update's, the share of tokens whose ratio is outside 0.9 to 1.1, and memory. `--sharp` multiplies
the logits: with random weights nearly all tokens are equally likely; with 10 the entropy is 2.7
nats, as a trained model's, and the gap is larger. `--profile` prints what the device's time is
spent on.

`--heads`: fused log-probabilities with entropy beside the plain ones, time and temporary memory.

Each of `--peers` runs in a process of its own on the same prompts: a step of TRL's GRPO trainer
(trl), transformers' continuous batching (batch) or `generate` (generate).

Needs jax, numpy and optax; torch, transformers and trl for the peers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
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
from bench_serve import MODELS, profile

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


def drawn(given: argparse.Namespace) -> Any:
    """Prompts, [prompts, length]."""
    rng = np.random.default_rng(0)
    shape = given.prompts, LENGTH
    return rng.integers(3, MODELS[given.model].vocab_size, shape).astype(np.int32)


def made(given: argparse.Namespace, dtype: str) -> tuple[RolloutStep, Any]:
    """The step and a state."""
    body = MODELS[given.model]
    lora = Lora(16, 32.0) if given.lora else None
    config = AlignedConfig(body, lora, frozen=dtype)
    model = config.module(unroll=given.lora, dtype=dtype)
    step = StepSettings(precision=Precision("bf16" if dtype == "bfloat16" else "fp32"))
    prompts = list(drawn(given))
    data = Prompts("", given.prompts, given.answers, given.tokens, slots=given.slots)
    policy = Policy("grpo", (Weighed(worth),))
    records = [Prompt(str(n), "", {}) for n in range(given.prompts)]
    words: Any = Wordless()
    optimizer = optax.adamw(1e-6)
    objective = PolicyObjective(model, policy)
    rows = given.prompts * given.answers

    def init(key: jax.Array) -> Any:
        params = model.init(key, *config.example)
        return take_apart(params, "layers") if given.lora else sharp(params)

    def sharp(params: Any) -> Any:
        return params | {"norm": {"scale": given.sharp * params["norm"]["scale"]}}

    state = init_state(init, optimizer, step, jax.random.key(0))
    if given.lora:
        whole = jax.jit(lambda: model.body.init(jax.random.key(1), *config.example))()
        base = jax.tree.map(lambda x: x.astype(dtype), take_apart(sharp(whole), "layers"))
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


class Phases:
    """Seconds of some functions of a step, by name; each ends with its results on the host."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.times: Counter[str] = Counter()

    def timed(self, name: str, run: Any) -> Any:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            found = run(*args, **kwargs)
            self.seconds[name] += time.perf_counter() - start
            self.times[name] += 1
            return found

        return timed


def ours(given: argparse.Namespace, dtype: str) -> None:
    """Prints times of the step and its phases, the gap, and memory."""
    step, state = made(given, dtype)
    batch = {"items": np.arange(given.prompts)}
    phases = Phases()
    step.sampler.draw = phases.timed("rollouts", step.sampler.draw)  # type: ignore[method-assign]
    step._measured = phases.timed("measuring", step._measured)  # type: ignore[method-assign]
    num = given.prompts * given.answers * given.tokens
    best: tuple[float, Counter[str]] = (float("inf"), Counter())
    for turn in range(given.turns):
        phases.seconds.clear()
        phases.times.clear()
        start = time.perf_counter()
        state, metrics = step(state, batch)
        jax.block_until_ready(state)
        seconds = time.perf_counter() - start
        if turn == 0:
            print(f"first step, with compilation: {seconds:.1f} s", flush=True)
            engine: Any = step.sampler._engine
            engine.step = phases.timed("steps", engine.step)
            programs = engine.programs._programs
            programs |= {name: phases.timed("starts", run) for name, run in programs.items()}
        else:
            best = min(best, (seconds, phases.seconds.copy()), key=lambda one: one[0])
    seconds, parts = best
    rest = seconds - parts["rollouts"] - parts["measuring"]
    print(
        f"{given.prompts} × {given.answers} × {given.tokens}, {given.micro} rows at a time"
        f"{', lora' if given.lora else ''}: a step {seconds:.2f} s: rollouts "
        f"{parts['rollouts']:.2f} s ({parts['rollouts'] / seconds:.0%}), measuring "
        f"{parts['measuring']:.2f} s, updates and the rest {rest:.2f} s; {num / seconds:,.0f} "
        f"tokens/s, rollouts alone {num / parts['rollouts']:,.0f}"
    )
    steps = phases.times["steps"]
    print(
        f"{steps} steps of the engine, {1e3 * parts['rollouts'] / steps:.2f} ms each; to start its "
        f"programs takes {1e3 * parts['starts'] / steps:.2f} ms"
    )
    told = {name: float(mean.value) for name, mean in metrics.metrics.items()}
    print(
        f"entropy {told['entropy']:.2f}, gap {told['gap']:.5f} nats, {told['gap_out']:.2%} of "
        "tokens outside 0.9 to 1.1; first ratios are exactly 1 (or it would have stopped)"
    )
    known = jax.local_devices()[0].memory_stats() or {}
    if known:
        print(f"highest memory {known['peak_bytes_in_use'] / 1e9:.1f} GB")
    if given.profile:
        profiled(step, state, given)


def profiled(step: RolloutStep, state: Any, given: argparse.Namespace) -> None:
    """Operations of a part of the rollouts, of measuring rows and of their gradient."""
    ids = step.data.ids
    how: dict[str, Any] = {"answers": given.answers, "stops": (), "seed": 0, "step": 0}
    print("rollouts of 16 tokens:")
    profile(lambda: step.sampler.draw(state, ids, max_tokens=16, **how), 1)
    seen: list[Any] = []
    add = step.programs.add
    step.programs.add = lambda *args: (seen.append(args), add(*args))[1]  # type: ignore[method-assign]
    state, _ = step(state, {"items": np.arange(given.prompts)})
    rows = seen[-1][2]
    print(f"measuring {given.micro} rows:")
    profile(lambda: step.programs.measure(state, rows)["logprobs"], 3)
    print(f"the gradient of {given.micro} rows:")
    profile(lambda: add(state, None, rows)[1].total, 3)


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


def peer(given: argparse.Namespace, name: str, dtype: str) -> None:
    """A peer on the prompts of `made`."""
    import align_peers
    import serve_peers

    config = MODELS[given.model]
    prompts = drawn(given).tolist()
    if name == "trl":
        how = {"answers": given.answers, "tokens": given.tokens, "micro": given.micro}
        align_peers.grpo(config, prompts, **how, dtype=dtype)
        return
    requests = [Request(prompt, given.tokens) for prompt in prompts for _ in range(given.answers)]
    if name == "batch":
        serve_peers.generate_batch(config, requests, dtype, 128, given.patience)
    else:
        serve_peers.generate(config, requests, dtype)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm", choices=MODELS)
    for name, default in (("prompts", 64), ("answers", 8), ("tokens", 256), ("micro", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--slots", type=int)
    parser.add_argument("--sharp", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=4, help="steps; the first is not counted")
    for name in ("lora", "heads", "profile"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--peers", default="", help="of trl, batch, generate, with commas")
    parser.add_argument("--patience", type=float, default=30, help="seconds for batch")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    given = parser.parse_args()
    dtype = "float32" if jax.default_backend() == "cpu" else "bfloat16"
    if given.peer:
        peer(given, given.peer, dtype)
        return
    for name in filter(None, given.peers.split(",")):  # before ours has memory of the device
        words = [sys.executable, __file__, "--peer", name, *sys.argv[1:]]
        found = subprocess.run(words, capture_output=True, text=True, check=False)
        lines = [line for line in found.stdout.splitlines() if line.endswith("tokens/s")]
        print("\n".join(lines) or f"{name} failed: {found.stderr.strip()[-600:]}", flush=True)
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}, {dtype}")
    if given.heads:
        heads(given, dtype)
    else:
        ours(given, dtype)


if __name__ == "__main__":
    main()
