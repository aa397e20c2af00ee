"""Small models on every mesh of eight devices, and on one. Needs no pytest: see check_meshes.py."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow import nn
from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig
from barrow.models.clip.model import CLIP
from barrow.models.decoder.model import DecoderConfig
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.nn.attention.rotary import Rotary
from barrow.parallel import AXES, ZERO, constrainer, make_mesh
from barrow.parallel.placement import Placement
from barrow.stream import Mlm
from barrow.train.objectives.causal import causal_objective
from barrow.train.objectives.contrastive import contrastive_objective
from barrow.train.objectives.masked import masked_objective

ROWS, LENGTH, VOCAB = 8, 16, 64
SMALL = {"vocab_size": VOCAB, "layers": 8, "hidden": 64, "context": 32}
LLAMA = {**SMALL, "norm": "rms", "gated": True, "activation": "silu", "tied": False}
# Few layers: rounding does not change the choice of an expert.
MIXTRAL = {**LLAMA, "layers": 2, "width": 32, "heads": 8, "rotary": Rotary(), "mlp_bias": False}
MODELS = {
    "gpt2": DecoderConfig(**SMALL, width=32, heads=8),
    # Key heads that fewer axes divide than heads; and heads that need a ring, with a window.
    "grouped": DecoderConfig(**LLAMA, width=32, heads=8, kv_heads=2, rotary=Rotary()),
    "odd": DecoderConfig(**LLAMA, width=24, heads=3, kv_heads=1, rotary=Rotary(), window=9),
    "ring": DecoderConfig(**LLAMA, width=24, heads=3, kv_heads=1, rotary=Rotary()),
    "window": DecoderConfig(**LLAMA, width=32, heads=8, rotary=Rotary(), window=5),
    "experts": DecoderConfig(**MIXTRAL, experts=nn.Routing(8, 2, balance=0.3, z=0.2)),
    "capacity": DecoderConfig(**MIXTRAL, experts=nn.Routing(8, 2, capacity=1.0, balance=0.3)),
}
ROBERTA = RobertaConfig(
    vocab_size=VOCAB, width=32, layers=8, heads=4, hidden=64, positions=40, dropout=0.0
)
CLIP_CONFIG = ClipConfig(
    embed=16,
    # The last layer of each tower is not repeated: stages divide eight.
    image=VisionConfig(resolution=16, patch=8, width=32, layers=9, heads=4),
    text=TextConfig(vocab_size=VOCAB, context=8, width=32, layers=9, heads=4),
)


Sizes = tuple[tuple[str, int], ...]


def on(**sizes: int) -> Sizes:
    """A mesh: the axes of more than one device."""
    return tuple(sizes.items())


def ways(num: int, axes: tuple[str, ...]) -> list[Sizes]:
    """Every way to spread so many devices over axes."""
    if not axes:
        return [()] if num == 1 else []
    divisors = [n for n in range(1, num + 1) if num % n == 0]
    return [
        ((axes[0], n), *rest) if n > 1 else rest
        for n in divisors
        for rest in ways(num // n, axes[1:])
    ]


def admits(name: str, sizes: Sizes) -> bool:
    """Whether a model has layers and experts that a mesh divides."""
    config = MODELS.get(name)
    routing = None if config is None else config.experts
    found, layers = dict(sizes), 8 if config is None else config.layers
    return layers % found.get("stage", 1) == 0 and (routing is not None or "expert" not in found)


def rows_of_tokens() -> dict[str, Any]:
    """Rows of several documents, whose borders are not those of devices."""
    rng = np.random.default_rng(0)
    starts = rng.random((ROWS, LENGTH)) < 0.2
    first = np.maximum.accumulate(np.where(starts, np.arange(LENGTH), 0), axis=1)
    shape = (ROWS, LENGTH)
    return {
        "tokens": rng.integers(2, VOCAB, shape),
        "targets": rng.integers(2, VOCAB, shape),
        "mask": rng.random(shape) < 0.7,
        "segments": np.cumsum(starts, axis=1) + 1,
        "positions": np.arange(LENGTH) - first,
    }


def pairs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "images": rng.integers(0, 256, (ROWS, 16, 16, 3)).astype(np.uint8),
        "texts": rng.integers(1, VOCAB, (ROWS, 8)),
        "mask": np.ones(ROWS, np.bool_),
    }


def made(name: str, **how: Any) -> tuple[Any, Callable[..., Any], Any, Any]:
    """The model, what makes its objective, examples and a batch."""
    if name == "roberta":
        model: Any = Roberta(ROBERTA)
        example = (jax.ShapeDtypeStruct((1, 1), jnp.int32),)
        return model, functools.partial(masked_objective, model, Mlm()), example, rows_of_tokens()
    if name == "clip":
        model = CLIP(CLIP_CONFIG)
        return model, functools.partial(contrastive_objective, model), CLIP_CONFIG.example, pairs()
    model = MODELS[name].module(**how)
    return model, functools.partial(causal_objective, model), MODELS[name].example, rows_of_tokens()


@functools.cache
def params_of(name: str) -> Any:
    """Random parameters. Those of `init` would be compiled, in half the time of the tests."""
    model, _, example, _ = made(name)
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), *example))
    rng = np.random.default_rng(1)

    def one(path: Any, x: Any) -> Any:
        is_scale = jax.tree_util.keystr(path, simple=True).endswith("scale")
        return jnp.asarray(rng.normal(1.0 * is_scale, 0.1, x.shape), x.dtype)

    return jax.tree_util.tree_map_with_path(one, shapes)


@functools.lru_cache(maxsize=24)
def program(
    name: str, sizes: Sizes | None, level: int = 0, *, rounds: int = 1, **how: Any
) -> tuple[Any, Any, Any]:
    """Mean and gradients, compiled; parameters and batch."""
    model, objective, example, batch = made(name, **how)
    zero = ZERO[level]
    mesh = None if sizes is None else make_mesh(**{"data": 1, **dict(sizes)})
    constrain = None if mesh is None else constrainer(zero.activations, mesh, rounds=rounds)
    loss_of = objective(constrain=constrain).loss
    params = params_of(name)

    def mean(params: Any, batch: Any) -> jax.Array:
        if mesh is not None:
            placement = Placement(mesh, zero, nn.axes(model, *example))
            params = placement.sharded(params, zero.params)
            batch = placement.batch(batch)
        loss = loss_of(params, nn.Tree(), batch, jax.random.key(1))
        return loss.total / loss.weight

    return jax.jit(jax.value_and_grad(mean)).lower(params, batch).compile(), params, batch


@functools.cache
def on_one(name: str) -> Any:
    step, params, batch = program(name, None)
    return jax.device_get(step(params, batch))


def apart(name: str, sizes: Sizes, level: int = 0, **how: Any) -> list[str]:
    """What differs from one device: loss and gradients, by the largest number of each array."""
    step, params, batch = program(name, sizes, level, **how)
    loss, grads = jax.device_get(step(params, batch))
    expected, wanted = on_one(name)
    limit = 1e-4 if {"tensor", "stage"} & set(dict(sizes)) else 1e-5
    found = {"loss": abs(float(loss) / float(expected) - 1)}
    for path, grad in nn.paths(wanted).items():
        # Attention does not depend on the bias of its keys: there is only rounding.
        if not path.endswith("k/bias"):
            found[path] = np.abs(nn.paths(grads)[path] - grad).max() / np.abs(grad).max()
    return [f"{path} {far:.1e}" for path, far in found.items() if not far <= limit]


@dataclass(frozen=True)
class Case:
    """A model on a mesh, with a level of ZeRO and rounds of its pipeline."""

    name: str
    sizes: Sizes
    level: int = 0
    rounds: int = 1

    def __str__(self) -> str:
        how = {**dict(self.sizes), "zero": self.level, "rounds": self.rounds}
        return " ".join([self.name, *(f"{key}={value}" for key, value in how.items())])

    def apart(self) -> list[str]:
        return apart(self.name, self.sizes, self.level, rounds=self.rounds)


def every_case() -> list[Case]:
    """All meshes that a model's sizes admit, for all models."""
    plain = [
        Case(name, way, level)
        for name in [*MODELS, "roberta", "clip"]
        for way in ways(8, AXES)
        if admits(name, way)
        for level in ((0, 3) if "fsdp" in dict(way) else (0,))
    ]
    piped = [way for way in ways(8, AXES) if 1 < dict(way).get("stage", 1) < 8]
    return plain + [Case("grouped", way, rounds=8 // dict(way)["stage"]) for way in piped]
