"""Proxies trained together (a swarm) beside the same proxies in turn, and what a search takes.

    python benchmarks/bench_swarm.py together [--size 800k] [--proxies 64] [--steps 60]
    python benchmarks/bench_swarm.py whole --size 100k --proxies 8 --steps 200
    python benchmarks/bench_swarm.py estimate [--search 68x2M,4x30M --search 68x2M,8x30M]

Tokens are random, in a store that is made here; loading them is measured too. `together` does the
same work in both ways in one process, after a warm-up that compiles, and prints the best of the
rounds. `whole` begins with nothing, and so compiles each run as `train` does. `estimate` measures
some steps of each size, in the groups that a search has, and the scoring of validation text, and
multiplies. Nothing but NumPy and JAX with optax is needed.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import jax
import numpy as np

from barrow.mix.proxies import proxy_config, proxy_run, read_proxies, together
from barrow.mix.swarm import Swarm, use_all_cores
from barrow.mix.validation import Validation
from barrow.stream import Stream
from barrow.train import Precision, Run
from barrow.train.fit import feed
from barrow.train.program import make_program
from barrow.train.tasks.token_data import TokenData

_DOMAINS = 8


@dataclass(frozen=True, eq=False)
class RandomStore:
    """Random ids in documents of about 500 tokens."""

    vocab_size: int
    tokens: int
    domains = tuple(f"domain {d}" for d in range(_DOMAINS))
    folder = Path("random")
    identity = tokenizer_hash = "0" * 64
    begin = 0
    end = None

    @cached_property
    def ids(self) -> np.ndarray:
        rng = np.random.default_rng(0)
        return rng.integers(1, self.vocab_size, (_DOMAINS, self.tokens), dtype=np.uint16)

    def domain_tokens(self, domain: int) -> int:
        return self.tokens

    def domain_starts(self, domain: int) -> np.ndarray:
        return np.append(np.arange(0, self.tokens, 500), self.tokens).astype(np.int64)

    def domain_range(self, domain: int) -> range:
        num = len(self.domain_starts(domain)) - 1
        return range(domain * num, (domain + 1) * num)

    def read(self, domain: int, start: int, stop: int) -> np.ndarray:
        return self.ids[domain, start:stop]


def mixtures(number: int) -> list[dict[str, float]]:
    drawn = np.random.default_rng(1).dirichlet(np.full(_DOMAINS, 0.5), number)
    return [dict(zip(RandomStore.domains, row.tolist(), strict=True)) for row in drawn]


def train_together(swarm: Swarm, steps: int) -> float:
    state = swarm.start()
    jax.block_until_ready(state)
    began = time.perf_counter()
    losses = []
    with swarm.feed(0, steps) as batches:
        for _, batch in batches:
            state, loss = swarm.advance(state, batch)
            losses.append(loss)
            if len(losses) > 2:
                losses[-3].block_until_ready()
    jax.block_until_ready(state)
    return time.perf_counter() - began


def make_program_on_one(run: Run):
    """On one device: `train` would divide each batch over all of them."""
    found = jax.devices
    jax.devices = lambda *_: found()[:1]
    try:
        return make_program(run)
    finally:
        jax.devices = found


def train_in_turn(run: Run, store: RandomStore, some: list[dict[str, float]], program) -> float:
    spent = 0.0
    first = program.start()
    for mixture in some:
        stream = Stream(replace(run.data, weights=mixture).open(store))
        data = TokenData(stream, run.model.vocab_size)
        state = jax.tree.map(jax.numpy.copy, first)
        jax.block_until_ready(state)
        began = time.perf_counter()
        with feed(data, program.placement.rows(), stop=run.steps) as batches:
            for _, batch in batches:
                state, _ = program.advance(state, batch)
        jax.block_until_ready(state)
        spent += time.perf_counter() - began
    return spent


def make_run(args: argparse.Namespace, params: int, steps: int | None = None) -> Run:
    config = proxy_config(params, vocab_size=args.vocab, context=args.length)
    run = proxy_run(config, args.tokens_per_param * params, rows=args.rows)
    run = (
        run
        if args.precision is None
        else replace(run, step=replace(run.step, precision=Precision(args.precision)))
    )
    return run if steps is None else replace(run, steps=steps)


def shape(run: Run) -> str:
    model = run.model
    inner = make_program(run).num_params - model.vocab_size * model.width
    return (
        f"{inner:,} parameters and a table of {model.vocab_size * model.width:,} ({model.layers} "
        f"layers of {model.width}), batch {run.data.batch}×{run.data.seq_len}, "
        f"{run.step.precision.name}"
    )


def measure_together(args: argparse.Namespace) -> None:
    (proxies,) = read_proxies(f"{args.proxies}x{args.size}")
    run = make_run(args, proxies.params, args.steps)
    store = RandomStore(args.vocab, args.store)
    some = mixtures(proxies.number)
    print(f"{proxies.number} proxies of {shape(run)}; {args.steps} steps", flush=True)
    # A run alone has the whole CPU as one device, which is faster for it.
    swarm, program = Swarm(run, some, store=store), make_program_on_one(run)
    train_together(swarm, 2)
    train_in_turn(replace(run, steps=2), store, some[:1], program)
    work = proxies.number * args.steps * run.data.batch * run.data.seq_len
    best = {"in turn": math.inf, "together": math.inf}
    for number in range(args.rounds):
        seconds = {
            "in turn": train_in_turn(run, store, some, program),
            "together": train_together(swarm, args.steps),
        }
        said = ", ".join(f"{name} {work / s:,.0f} tokens/s" for name, s in seconds.items())
        print(f"round {number}: {said}", flush=True)
        best = {name: min(best[name], s) for name, s in seconds.items()}
    loading = time.perf_counter()
    for step in range(10):
        swarm.batches(step)
    loading = (time.perf_counter() - loading) / 10
    for name, s in best.items():
        print(f"{name}: {s:.2f} s, {work / s:,.0f} tokens/s")
    print(
        f"ratio {best['in turn'] / best['together']:.2f}; batches of a step {loading * 1e3:.1f} ms"
    )


def measure_whole(args: argparse.Namespace) -> None:
    """From nothing to trained parameters, compilation included: once for each proxy in turn."""
    (proxies,) = read_proxies(f"{args.proxies}x{args.size}")
    run = make_run(args, proxies.params, args.steps)
    store, some = RandomStore(args.vocab, args.store), mixtures(proxies.number)
    store.ids  # noqa: B018
    began = time.perf_counter()
    train_together(Swarm(run, some, store=store), args.steps)
    together = time.perf_counter() - began
    began = time.perf_counter()
    for mixture in some:
        train_in_turn(run, store, [mixture], make_program_on_one(run))
    in_turn = time.perf_counter() - began
    print(f"{proxies.number} proxies of {shape(run)}; {args.steps} steps")
    print(f"in turn {in_turn:.1f} s, together {together:.1f} s, ratio {in_turn / together:.2f}")


def measure_search(args: argparse.Namespace) -> None:
    store = RandomStore(args.vocab, args.store)
    known: dict[tuple[int, int], float] = {}
    for text in args.search:
        total = 0.0
        print(f"search {text}, {args.tokens_per_param} tokens for each parameter", flush=True)
        for proxies in read_proxies(text):
            run = make_run(args, proxies.params)
            left = proxies.number
            while left:
                group = min(left, together(run, proxies.params))
                left -= group
                if (group, proxies.params) not in known:
                    swarm = Swarm(run, mixtures(group), store=store)
                    train_together(swarm, 2)
                    spent = train_together(swarm, args.steps) / args.steps
                    scoring = _scoring(swarm, args.validation)
                    known[group, proxies.params] = run.steps * spent + scoring
                    minutes = known[group, proxies.params] / 60
                    speed = group * run.data.batch * run.data.seq_len / spent
                    print(
                        f"  {group} of {shape(run)}: {spent * 1e3:.1f} ms a step, "
                        f"{speed:,.0f} tokens/s; {run.steps:,} steps and {scoring:.0f} s of "
                        f"scoring {args.validation:,} tokens: {minutes:.1f} "
                        "minutes",
                        flush=True,
                    )
                total += known[group, proxies.params]
        print(f"  in all {total / 60:.1f} minutes", flush=True)


def _scoring(swarm: Swarm, tokens: int) -> float:
    """Seconds for so many validation tokens, from a part of them."""
    context = swarm.run.data.seq_len
    rows = max(1, min(tokens, 1 << 17) // context)
    ids = np.random.default_rng(2).integers(0, swarm.run.model.vocab_size, rows * (context + 1))
    validation = Validation(
        "",
        ("all",),
        context,
        np.zeros(1, np.int64),
        np.ones(1, np.int64),
        np.zeros(1),
        ids.astype(np.int32),
        np.arange(rows + 1, dtype=np.int64) * (context + 1),
        np.full(rows, context, np.int64),
        np.zeros(rows, np.int64),
    )
    params = swarm.start().proxies.params
    model = swarm.run.model.module(unroll=True)
    validation.nats(model, params)
    began = time.perf_counter()
    validation.nats(model, params)
    return (time.perf_counter() - began) * tokens / (rows * context)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["together", "whole", "estimate"])
    parser.add_argument("--size", default="800k", help="with a table of 4,096 × 128: 1.31M in all")
    parser.add_argument("--proxies", type=int, default=64)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="of a batch; by default those of a search")
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--vocab", type=int, default=4096)
    parser.add_argument("--precision", help="fp32 or bf16; by default bf16 on accelerators")
    parser.add_argument("--store", type=int, default=4_000_000, help="tokens of each of 8 domains")
    parser.add_argument("--tokens-per-param", type=float, default=20)
    parser.add_argument("--validation", type=int, default=1_000_000, help="tokens that are scored")
    parser.add_argument("--search", action="append")
    args = parser.parse_args()
    args.search = args.search or ["68x2M,4x30M", "68x2M,8x30M"]
    use_all_cores()
    print(f"{jax.devices()[0].device_kind}, {len(jax.devices())} device(s), jax {jax.__version__}")
    does = {"together": measure_together, "whole": measure_whole, "estimate": measure_search}
    does[args.what](args)


if __name__ == "__main__":
    main()
