"""Modules beside plain JAX, Flax Linen and Flax NNX, in one run.

    python benchmarks/bench_nn.py [--width 256] [--repeats 60]

The model is an embedding, 24 layers of LayerNorm and a feed-forward net beside a residual, and the
embedding again as the head; the step is cross-entropy, its gradient, and plain gradient descent.
(1) The compiled step, by modules and by hand in plain JAX, the two in turn; and what one call costs
before anything runs, for a tree of 300 arrays. (2) Finding shapes, making parameters, and tracing
the forward pass, beside Flax. (3) Compiling the step, scanned and unrolled.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp

from barrow import nn

VOCAB, LAYERS = 512, 24


@dataclass(frozen=True)
class Layer(nn.Module):
    def forward(self, scope: nn.Scope, x: jax.Array, each: None) -> tuple[jax.Array, None]:
        width = x.shape[-1]
        y = nn.LayerNorm()(scope / "norm", x)
        return x + nn.MLP(4 * width, "gelu_new")(scope / "mlp", y), None


@dataclass(frozen=True)
class Model(nn.Module):
    width: int
    unroll: bool = False

    def forward(self, scope: nn.Scope, ids: jax.Array) -> jax.Array:
        embed = nn.Embed(VOCAB, self.width)
        x = embed(scope / "embed", ids)
        x, _ = nn.Repeat(Layer(), LAYERS, unroll=self.unroll)(scope / "layers", x)
        return embed.attend(scope.again("embed"), x)


@dataclass(frozen=True)
class Separate(nn.Module):
    """The same in a Python loop, each layer under a name of its own."""

    width: int

    def forward(self, scope: nn.Scope, ids: jax.Array) -> jax.Array:
        embed = nn.Embed(VOCAB, self.width)
        x = embed(scope / "embed", ids)
        for k in range(LAYERS):
            x, _ = Layer()(scope / f"layer_{k}", x, None)
        return embed.attend(scope.again("embed"), x)


def by_hand(params: Any, ids: jax.Array, unroll: bool) -> jax.Array:
    """The same in plain JAX."""

    def layer(x: jax.Array, p: Any) -> tuple[jax.Array, None]:
        y = x - jnp.mean(x, -1, keepdims=True)
        y = y * jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + 1e-5)
        y = y * p["norm"]["scale"] + p["norm"]["bias"]
        mlp = p["mlp"]
        y = jax.nn.gelu(y @ mlp["up"]["kernel"] + mlp["up"]["bias"])
        return x + y @ mlp["down"]["kernel"] + mlp["down"]["bias"], None

    x = params["embed"]["table"][ids]
    if unroll:
        for k in range(LAYERS):
            x, _ = layer(x, jax.tree.map(lambda p, k=k: p[k], params["layers"]))
    else:
        x, _ = jax.lax.scan(layer, x, params["layers"])
    return x @ params["embed"]["table"].T


def step_of(forward: Callable[[Any, jax.Array], jax.Array]) -> Callable[..., Any]:
    def loss(params: Any, ids: jax.Array) -> jax.Array:
        scores = jax.nn.log_softmax(forward(params, ids[:, :-1]))
        return -jnp.mean(jnp.take_along_axis(scores, ids[:, 1:, None], 2))

    def step(params: Any, ids: jax.Array) -> tuple[Any, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(params, ids)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    return step


def as_dicts(tree: Any) -> Any:
    return {k: as_dicts(v) for k, v in tree.items()} if isinstance(tree, nn.Tree) else tree


def in_turn(functions: list[Callable[[], Any]], repeats: int) -> list[list[float]]:
    """Seconds of each, one after another again and again, so that all see the same noise."""
    for function in functions:
        jax.block_until_ready(function())
    seconds: list[list[float]] = [[] for _ in functions]
    for turn in range(repeats):
        order = range(len(functions)) if turn % 2 else reversed(range(len(functions)))
        for k in order:
            start = time.perf_counter()
            jax.block_until_ready(functions[k]())
            seconds[k].append(time.perf_counter() - start)
    return seconds


def row(name: str, ours: list[float], other: list[float], unit: float, form: str) -> str:
    best, middle = min(ours) / min(other), statistics.median(ours) / statistics.median(other)
    times = [form.format(min(times) / unit) for times in (ours, other)]
    return f"| {name} | {times[0]} | {times[1]} | {best:.3f} | {middle:.3f} |"


def steps(width: int, repeats: int) -> None:
    ids = jax.random.randint(jax.random.key(1), (2, 65), 0, VOCAB)
    params = Model(width).init(jax.random.key(0), ids)
    plain = as_dicts(params)
    print("\n| ms a step | modules | by hand | ratio of best | of medians |\n|---|---|---|---|---|")
    for name, unroll in (("scanned", False), ("unrolled", True)):
        ours = jax.jit(step_of(Model(width, unroll).apply))
        other = jax.jit(step_of(lambda p, x, u=unroll: by_hand(p, x, u)))
        difference = abs(float(ours(params, ids)[1]) - float(other(plain, ids)[1]))
        assert difference < 1e-4, difference
        times = in_turn([lambda f=ours: f(params, ids), lambda f=other: f(plain, ids)], repeats)
        print(row(f"{LAYERS} layers, {name}", *times, 1e-3, "{:.2f}"))
        counts = [
            f.lower(p, ids).compile().cost_analysis() for f, p in ((ours, params), (other, plain))
        ]
        for what in ("flops", "bytes accessed"):
            one, two = (count[what] for count in counts)
            print(
                f"| {name}: {what}, as XLA counts | {one:,.0f} | {two:,.0f} | {one / two:.3f} | |"
            )
    leaves = {f"b{k}/{m}/{n}": jnp.ones(()) for k in range(50) for m in "pq" for n in "xyz"}
    tree = nn.from_paths(leaves)
    dicts = as_dicts(tree)
    same = jax.jit(lambda p: p)
    out = [lambda: same(tree), lambda: same(dicts)]
    times = in_turn([lambda f=f: [f() for _ in range(20)] for f in out], repeats)
    print(row("a call with 300 arrays, in and out (µs)", *times, 20e-6, "{:.0f}"))
    one = jax.jit(lambda p: p["b0"]["p"]["x"])
    out = [lambda: one(tree), lambda: one(dicts)]
    times = in_turn([lambda f=f: [f() for _ in range(20)] for f in out], repeats)
    print(row("a call with 300 arrays, in (µs)", *times, 20e-6, "{:.0f}"))


def linen(width: int, scanned: bool) -> Any:
    import flax.linen as fl

    class LinenLayer(fl.Module):
        @fl.compact
        def __call__(self, x: jax.Array, _: None = None) -> tuple[jax.Array, None]:
            y = fl.Dense(4 * width, name="up")(fl.LayerNorm(name="norm")(x))
            return x + fl.Dense(width, name="down")(fl.gelu(y)), None

    class LinenModel(fl.Module):
        @fl.compact
        def __call__(self, ids: jax.Array) -> jax.Array:
            embed = fl.Embed(VOCAB, width, name="embed")
            x = embed(ids)
            if scanned:
                layers = fl.scan(
                    LinenLayer,
                    variable_axes={"params": 0},
                    split_rngs={"params": True},
                    length=LAYERS,
                )
                x, _ = layers(name="layers")(x, None)
            else:
                for k in range(LAYERS):
                    x, _ = LinenLayer(name=f"layer_{k}")(x)
            return embed.attend(x)

    return LinenModel()


def nnx_model(width: int) -> Any:
    from flax import nnx

    class NnxLayer(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.norm = nnx.LayerNorm(width, rngs=rngs)
            self.up = nnx.Linear(width, 4 * width, rngs=rngs)
            self.down = nnx.Linear(4 * width, width, rngs=rngs)

        def __call__(self, x: jax.Array) -> jax.Array:
            return x + self.down(jax.nn.gelu(self.up(self.norm(x))))

    class NnxModel(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.embed = nnx.Embed(VOCAB, width, rngs=rngs)
            self.layers = nnx.List([NnxLayer(rngs) for _ in range(LAYERS)])

        def __call__(self, ids: jax.Array) -> jax.Array:
            x = self.embed(ids)
            for layer in self.layers:
                x = layer(x)
            return self.embed.attend(x)

    return NnxModel


def tracing(width: int, repeats: int) -> None:
    from flax import nnx

    ids, key = jnp.zeros((2, 16), jnp.int32), jax.random.key(0)
    jobs: dict[str, tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]] = {}

    def add(name: str, init: Callable[..., Any], apply: Callable[..., Any]) -> None:
        params = init(key, ids)
        jobs[name] = (
            lambda: jax.eval_shape(lambda k, x: init(k, x), key, ids),
            lambda: init(key, ids),
            # A function of its own each time: JAX remembers what it has traced.
            lambda: (
                jax.jit(lambda p, x: apply(p, x)).trace(params, ids).jaxpr.eqns[0].primitive.name
            ),
        )

    add("barrow, scanned", Model(width).init, Model(width).apply)
    add("barrow, unrolled", Model(width, True).init, Model(width, True).apply)
    add("barrow, loop", Separate(width).init, Separate(width).apply)
    add("Linen, nn.scan", linen(width, True).init, linen(width, True).apply)
    add("Linen, loop", linen(width, False).init, linen(width, False).apply)
    module = nnx_model(width)

    def nnx_init(key: jax.Array, ids: jax.Array) -> Any:
        return nnx.state(module(nnx.Rngs(params=key)))

    graph = nnx.graphdef(module(nnx.Rngs(0)))
    add("NNX, loop", nnx_init, lambda state, ids: nnx.merge(graph, state)(ids))
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for k in range(3):
        times = in_turn([job[k] for job in jobs.values()], repeats)
        for name, seconds in zip(jobs, times, strict=True):
            found[name].append(min(seconds) * 1e3)
    print("\n| ms, best | shapes (eval_shape of init) | parameters (init) | tracing apply |")
    print("|---|---|---|---|")
    for name, values in found.items():
        print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in values) + " |")
    for ours, theirs in (
        ("barrow, scanned", "Linen, nn.scan"),
        ("barrow, loop", "Linen, loop"),
        ("barrow, loop", "NNX, loop"),
    ):
        ratios = (a / b for a, b in zip(found[ours], found[theirs], strict=True))
        print(f"| {ours} ÷ {theirs} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")


def compiling(width: int) -> None:
    ids = jax.ShapeDtypeStruct((2, 65), jnp.int32)
    print("\n| seconds, best of 3 | trace and lower | compile | together |\n|---|---|---|---|")
    totals = []
    for name, unroll in (("scanned", False), ("unrolled", True)):
        params = jax.eval_shape(Model(width).init, jax.random.key(0), ids)
        best = (float("inf"),) * 3
        for _ in range(3):
            jax.clear_caches()
            start = time.perf_counter()
            lowered = jax.jit(step_of(Model(width, unroll).apply)).lower(params, ids)
            middle = time.perf_counter()
            lowered.compile()
            end = time.perf_counter()
            best = min(best, (middle - start, end - middle, end - start), key=lambda b: b[2])
        totals.append(best)
        print(f"| {name} | " + " | ".join(f"{seconds:.2f}" for seconds in best) + " |")
    ratios = (unrolled / scanned for scanned, unrolled in zip(*totals, strict=True))
    print("| unrolled ÷ scanned | " + " | ".join(f"{ratio:.1f}" for ratio in ratios) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=60)
    options = parser.parse_args()
    device = jax.devices()[0]
    versions = f"jax {version('jax')}, flax {version('flax')}, Python {platform.python_version()}"
    print(f"{device.device_kind}, {versions}; width {options.width}, {LAYERS} layers")
    steps(options.width, options.repeats)
    tracing(32, max(3, options.repeats // 6))
    compiling(options.width)


if __name__ == "__main__":
    main()
