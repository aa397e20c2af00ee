"""Every way to spread eight devices over the mesh equals one device (FLAX-5, ACCELERATE-12)."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
SMALL = {"vocab_size": VOCAB, "layers": 2, "hidden": 64, "context": 32}
LLAMA = {**SMALL, "norm": "rms", "gated": True, "activation": "silu", "tied": False}
MIXTRAL = {**LLAMA, "width": 32, "heads": 8, "rotary": Rotary(), "mlp_bias": False}
MODELS = {
    "gpt2": DecoderConfig(**SMALL, width=32, heads=8),
    # Key heads that fewer axes divide than heads; and heads that need a ring.
    "grouped": DecoderConfig(**LLAMA, width=32, heads=8, kv_heads=2, rotary=Rotary()),
    "odd": DecoderConfig(**LLAMA, width=24, heads=3, kv_heads=1, rotary=Rotary()),
    "window": DecoderConfig(**LLAMA, width=32, heads=8, rotary=Rotary(), window=5),
    "experts": DecoderConfig(**MIXTRAL, experts=nn.Routing(8, 2, balance=0.3, z=0.2)),
    "capacity": DecoderConfig(**MIXTRAL, experts=nn.Routing(8, 2, capacity=1.0, balance=0.3)),
}
ROBERTA = RobertaConfig(
    vocab_size=VOCAB, width=32, layers=2, heads=4, hidden=64, positions=40, dropout=0.0
)
CLIP_CONFIG = ClipConfig(
    embed=16,
    image=VisionConfig(resolution=16, patch=8, width=32, layers=2, heads=4),
    text=TextConfig(vocab_size=VOCAB, context=8, width=32, layers=2, heads=4),
)


def ways(num: int, axes: int) -> list[tuple[int, ...]]:
    """Every ordered product of so many factors."""
    if axes == 1:
        return [(num,)]
    divisors = [n for n in range(1, num + 1) if num % n == 0]
    return [(n, *rest) for n in divisors for rest in ways(num // n, axes - 1)]


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


def made(name: str) -> tuple[Any, Callable[..., Any], Any, Any]:
    """The model, what makes its objective, examples and a batch."""
    if name == "roberta":
        model: Any = Roberta(ROBERTA)
        example = (jax.ShapeDtypeStruct((1, 1), jnp.int32),)
        return model, functools.partial(masked_objective, model, Mlm()), example, rows_of_tokens()
    if name == "clip":
        model = CLIP(CLIP_CONFIG)
        return model, functools.partial(contrastive_objective, model), CLIP_CONFIG.example, pairs()
    model = MODELS[name].module()
    return model, functools.partial(causal_objective, model), MODELS[name].example, rows_of_tokens()


@functools.lru_cache(maxsize=24)
def program(name: str, sizes: tuple[int, ...] | None, stage: int = 0) -> tuple[Any, Any, Any]:
    """Mean and gradients, compiled; parameters and batch."""
    model, objective, example, batch = made(name)
    zero = ZERO[stage]
    mesh = None if sizes is None else make_mesh(**dict(zip(AXES, sizes, strict=True)))
    constrain = None if mesh is None else constrainer(zero.activations, mesh)
    loss_of = objective(constrain=constrain).loss
    params = jax.jit(lambda: model.init(jax.random.key(0), *example))()

    def mean(params: Any, batch: Any) -> jax.Array:
        if mesh is not None:
            placement = Placement(mesh, zero, nn.axes(model, *example))
            params = placement.sharded(params, zero.params)
            batch = jax.lax.with_sharding_constraint(batch, placement.rows())
        loss = loss_of(params, nn.Tree(), batch, jax.random.key(1))
        return loss.total / loss.weight

    return jax.jit(jax.value_and_grad(mean)).lower(params, batch).compile(), params, batch


@functools.cache
def on_one(name: str) -> Any:
    step, params, batch = program(name, None)
    return jax.device_get(step(params, batch))


def check(name: str, sizes: tuple[int, ...], stage: int) -> None:
    step, params, batch = program(name, sizes, stage)
    loss, grads = jax.device_get(step(params, batch))
    expected, wanted = on_one(name)
    limit = 1e-4 if sizes[AXES.index("tensor")] > 1 else 1e-5
    assert loss == pytest.approx(expected, rel=limit)
    for path, grad in nn.paths(wanted).items():
        apart = np.abs(nn.paths(grads)[path] - grad).max()
        # Attention does not depend on the bias of its keys: there is only rounding.
        assert apart <= limit * np.abs(grad).max() or path.endswith("k/bias"), path


# data, fsdp, expert, sequence, tensor; and the ZeRO stage.
SAMPLE = [
    ("gpt2", (1, 2, 1, 2, 2), 3),
    ("grouped", (1, 1, 1, 2, 4), 0),
    ("odd", (2, 1, 1, 4, 1), 0),
    ("odd", (1, 1, 1, 8, 1), 0),
    ("window", (1, 1, 1, 4, 2), 0),
    ("experts", (1, 2, 2, 1, 2), 3),
    ("capacity", (1, 1, 4, 2, 1), 0),
    ("roberta", (2, 1, 1, 2, 2), 0),
    ("clip", (2, 2, 1, 1, 2), 2),
]


@pytest.mark.parametrize(("name", "sizes", "stage"), SAMPLE)
def test_a_mesh_equals_one_device(name: str, sizes: tuple[int, ...], stage: int) -> None:
    """DEEPSPEED-13: loss and gradients, relative to the largest number of each array."""
    check(name, sizes, stage)


@pytest.mark.soak
@pytest.mark.parametrize("sizes", ways(8, len(AXES)))
@pytest.mark.parametrize("name", [*MODELS, "roberta", "clip"])
def test_every_mesh_equals_one_device(name: str, sizes: tuple[int, ...]) -> None:
    for stage in {0, 3 if sizes[1] > 1 else 0}:
        check(name, sizes, stage)


def collectives(name: str, sizes: tuple[int, ...]) -> tuple[Counter[str], str]:
    text = program(name, sizes, 0)[0].as_text()
    kinds = r" (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
    return Counter(re.findall(kinds, text)), text


def test_no_logits_leave_their_device() -> None:
    """Tensor parallelism gathers nothing as large as the logits."""
    found, text = collectives("gpt2", (1, 1, 1, 1, 8))
    assert found["all-reduce"]
    logits = ROWS * LENGTH * VOCAB
    for shape in re.findall(r"f32\[([\d,]+)\][^=]* all-(?:gather|reduce)", text):
        assert math.prod(map(int, shape.split(","))) < logits


def test_rows_are_exchanged_for_heads_or_go_around() -> None:
    assert collectives("gpt2", (1, 1, 1, 8, 1))[0]["all-to-all"]
    ring, _ = collectives("odd", (1, 1, 1, 8, 1))
    assert ring["collective-permute"]
    assert not ring["all-to-all"]


def test_tokens_are_sent_to_their_experts() -> None:
    """All-to-all, and nothing as large as the weights of all experts of a layer is gathered."""
    found, text = collectives("capacity", (1, 1, 4, 2, 1))
    assert found["all-to-all"]
    experts = 8 * 32 * 64
    for shape in re.findall(r"f32\[([\d,]+)\][^=]* all-(?:gather|reduce)", text):
        assert math.prod(map(int, shape.split(","))) < experts


def test_all_tokens_may_choose_the_same_experts() -> None:
    """Tokens that do not fit into one exchange are sent in further ones: none is lost."""
    found = []
    for step, params, batch in (program("experts", None), program("experts", (1, 2, 2, 1, 2), 3)):
        mlp = params["layers"]["mlp"]
        kernel = mlp["router"]["kernel"] * 0.01 + jnp.array([5.0, 4.0, 0, 0, 0, 0, 0, 0])
        mlp = mlp | {"router": {"kernel": kernel * jnp.sign(kernel)}}
        params = params | {"layers": params["layers"] | {"mlp": mlp}}
        found.append(jax.device_get(step(params, batch)))
    (loss, grads), (again, same) = found
    assert again == pytest.approx(loss, rel=1e-4)
    for path, grad in nn.paths(grads).items():
        assert np.abs(nn.paths(same)[path] - grad).max() <= 1e-4 * np.abs(grad).max(), path
