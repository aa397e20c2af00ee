"""Every way to spread eight devices over the mesh equals one device (FLAX-5, ACCELERATE-12)."""

from __future__ import annotations

import functools
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
from barrow.nn.layers.remat import EVERYTHING
from barrow.parallel import AXES, ZERO, constrainer, make_mesh
from barrow.parallel.collectives import Collective, collectives
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


def check(name: str, sizes: Sizes, level: int, **how: Any) -> None:
    step, params, batch = program(name, sizes, level, **how)
    loss, grads = jax.device_get(step(params, batch))
    expected, wanted = on_one(name)
    limit = 1e-4 if {"tensor", "stage"} & set(dict(sizes)) else 1e-5
    assert loss == pytest.approx(expected, rel=limit)
    for path, grad in nn.paths(wanted).items():
        apart = np.abs(nn.paths(grads)[path] - grad).max()
        # Attention does not depend on the bias of its keys: there is only rounding.
        assert apart <= limit * np.abs(grad).max() or path.endswith("k/bias"), path


# The model, the mesh, the level of ZeRO.
SAMPLE = [
    ("grouped", on(fsdp=2, sequence=2, tensor=2), 3),
    ("odd", on(data=2, sequence=4), 0),
    ("experts", on(fsdp=2, expert=2, tensor=2), 3),
    ("roberta", on(data=2, sequence=2, tensor=2), 0),
    ("clip", on(data=2, fsdp=2, tensor=2), 2),
]


@pytest.mark.parametrize(("name", "sizes", "level"), SAMPLE)
def test_a_mesh_equals_one_device(name: str, sizes: Sizes, level: int) -> None:
    """DEEPSPEED-13: loss and gradients, relative to the largest number of each array."""
    check(name, sizes, level)


def test_a_pipeline_of_several_rounds_equals_one_device() -> None:
    """DEEPSPEED-9: unrolled layers, recomputed in the backward pass."""
    sizes = on(stage=4, tensor=2)
    check("grouped", sizes, 0, rounds=2, unroll=True, remat=EVERYTHING)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "sizes"),
    [(n, way) for n in [*MODELS, "roberta", "clip"] for way in ways(8, AXES) if admits(n, way)],
)
def test_every_mesh_equals_one_device(name: str, sizes: Sizes) -> None:
    for level in {0, 3 if "fsdp" in dict(sizes) else 0}:
        check(name, sizes, level)


@pytest.mark.soak
@pytest.mark.parametrize(
    "sizes", [way for way in ways(8, AXES) if 1 < dict(way).get("stage", 1) < 8]
)
def test_every_mesh_with_rounds_equals_one_device(sizes: Sizes) -> None:
    check("grouped", sizes, 0, rounds=8 // dict(sizes)["stage"])


def sent(name: str, sizes: Sizes, level: int = 0) -> list[Collective]:
    return collectives(program(name, sizes, level)[0].as_text())


def test_half_a_block_adds_up_once_over_tensor() -> None:
    """ACCELERATE-4: forward and backward; and nothing as large as the logits leaves its device."""
    found = sent("gpt2", on(tensor=8))
    assert {one.kind for one in found} == {"all-reduce"}
    in_layers = {one.name: one for one in found if "(layers)" in one.layer}
    assert {one.times for one in in_layers.values()} == {8}
    where = [one.layer.partition("closed_call/")[2] for one in in_layers.values()]
    back = ["transpose" in one.layer for one in in_layers.values()]
    assert sorted(zip(back, where, strict=True)) == [
        (False, "attention/out/dot_general"),
        (False, "mlp/down/dot_general"),
        (True, "attention/(q/dot_general:v/dot_general:k/dot_general)"),
        (True, "mlp/up/dot_general"),
    ]
    # The embedding and the gradient of what the logits are made of; the sum and the highest of the
    # loss's logits are numbers of each token.
    outside = {one.name: one.size for one in found if one.name not in in_layers}
    tokens = 4 * ROWS * LENGTH
    assert sorted(outside.values()) == [tokens, tokens, 32 * tokens, 32 * tokens]
    assert max(one.size for one in found) < VOCAB * tokens


def test_rows_are_exchanged_for_heads_or_go_around() -> None:
    exchanged = sent("grouped", on(fsdp=2, sequence=2, tensor=2), 3)
    assert any(one.kind == "all-to-all" and "attention" in one.layer for one in exchanged)
    gathered = [one for one in exchanged if one.kind == "all-gather" and "norm" in one.layer]
    assert max(one.size for one in gathered) == 4 * 32  # scales, not tokens
    # Of the mask only the numbers of the documents, once for all layers.
    of_mask = [one for one in exchanged if "/attention/" in one.layer and "layers" not in one.layer]
    assert [one.size for one in of_mask] == [4 * ROWS // 2 * LENGTH]
    ring = {one.kind for one in sent("odd", on(data=2, sequence=4))}
    assert "collective-permute" in ring
    assert "all-to-all" not in ring


def test_tokens_are_sent_to_their_experts() -> None:
    """DEEPSPEED-11: all-to-all, and the weights of all experts of a layer are not gathered."""
    found = sent("experts", on(fsdp=2, expert=2, tensor=2), 3)
    assert any(one.kind == "all-to-all" and "mlp" in one.layer for one in found)
    gathered = [one.size for one in found if one.kind in ("all-gather", "all-reduce")]
    assert max(gathered) < 4 * 8 * 32 * 64


def test_all_tokens_may_choose_the_same_experts() -> None:
    """Tokens that do not fit into one exchange are sent in further ones: none is lost."""
    found = []
    mesh = on(fsdp=2, expert=2, tensor=2)
    for step, params, batch in (program("experts", None), program("experts", mesh, 3)):
        mlp = params["layers"]["mlp"]
        kernel = mlp["router"]["kernel"] * 0.01 + jnp.array([5.0, 4.0, 0, 0, 0, 0, 0, 0])
        mlp = mlp | {"router": {"kernel": kernel * jnp.sign(kernel)}}
        params = params | {"layers": params["layers"] | {"mlp": mlp}}
        found.append(jax.device_get(step(params, batch)))
    (loss, grads), (again, same) = found
    assert again == pytest.approx(loss, rel=1e-4)
    for path, grad in nn.paths(grads).items():
        assert np.abs(nn.paths(same)[path] - grad).max() <= 1e-4 * np.abs(grad).max(), path
