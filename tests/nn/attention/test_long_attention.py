"""Attention of long rows (DEEPSPEED-13): the numbers of dense attention, without all its scores."""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.models.decoder.model import DecoderConfig
from barrow.nn.attention.attention import attention
from barrow.nn.attention.rotary import Rotary
from barrow.nn.attention.visible import CAUSAL, Visible
from barrow.parallel import ZERO, constrainer, make_mesh
from barrow.train.objectives.causal import causal_objective

PLACES = 30
SEGMENTS = jnp.asarray(np.repeat([[0, 1, 1, 2, 5], [3, 3, 3, 3, 4]], 6, axis=1))
VISIBLE = {
    "all": Visible(),
    "causal": CAUSAL,
    "documents": Visible(causal=True, segments=(SEGMENTS, SEGMENTS)),
    "lengths": Visible(lengths=jnp.asarray([0, 17])),
    "window": Visible(causal=True, window=7, segments=(SEGMENTS, SEGMENTS)),
}


@pytest.mark.parametrize("kv_heads", [4, 1])
@pytest.mark.parametrize("name", VISIBLE)
def test_it_is_dense_attention(name: str, kv_heads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and gradients, with several blocks of queries and rows that see nothing."""
    monkeypatch.setattr(sys.modules["barrow.nn.attention.long_attention"], "_HELD", 64)
    rng = np.random.default_rng(1)
    q, k, v = (
        jnp.asarray(rng.standard_normal((2, PLACES, heads, 8)), jnp.float32)
        for heads in (4, kv_heads, kv_heads)
    )

    def total(backend: Any) -> Any:
        def of(*qkv: jax.Array) -> tuple[jax.Array, jax.Array]:
            out = attention(*qkv, VISIBLE[name], backend=backend)
            return jnp.sin(out).sum(), out

        return jax.jit(jax.value_and_grad(of, (0, 1, 2), has_aux=True))(q, k, v)

    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5),
        total("long"),
        total("xla"),
    )


def test_masks_are_not_kept_for_all_layers() -> None:
    """A scan over layers would compute what does not change once, and keep it."""

    def temporaries(length: int) -> int:
        def layers(q: jax.Array, segments: jax.Array) -> jax.Array:
            visible = Visible(causal=True, segments=(segments, segments))
            body = lambda x, _: (attention(x, x, x, visible, backend="long"), None)  # noqa: E731
            return jax.lax.scan(body, q, None, length=2)[0].sum()

        q = jax.ShapeDtypeStruct((1, length, 1, 8), jnp.float32)
        segments = jax.ShapeDtypeStruct((1, length), jnp.int32)
        return (
            jax.jit(jax.grad(layers))
            .lower(q, segments)
            .compile()
            .memory_analysis()
            .temp_size_in_bytes
        )

    assert temporaries(8192) < 2.2 * temporaries(4096)


def test_what_it_cannot_do() -> None:
    q = jnp.zeros((1, 2, 1, 8))
    with pytest.raises(ValueError, match="as many queries as keys, no cache, no blocks"):
        attention(q, jnp.zeros((1, 4, 1, 8)), jnp.zeros((1, 4, 1, 8)), backend="long")


def program(length: int, heads: int, sequence: int) -> tuple[Any, Any]:
    config = DecoderConfig(
        vocab_size=256,
        width=96,
        layers=2,
        heads=heads,
        hidden=256,
        context=length,
        rotary=Rotary(),
        tied=False,
    )
    model = config.module()
    mesh = make_mesh(data=1, sequence=sequence, devices=jax.devices()[:sequence])
    constrain = constrainer(ZERO[0].activations, mesh)
    loss_of = causal_objective(model, constrain=constrain).loss

    def mean(params: Any, batch: Any) -> jax.Array:
        batch = {name: constrain(x, ("batch", "length")) for name, x in batch.items()}
        loss = loss_of(params, {}, batch, jax.random.key(0))
        return loss.total / loss.weight

    params = jax.jit(lambda: model.init(jax.random.key(0), *config.example))()
    return jax.jit(jax.value_and_grad(mean)), params


def batch_of(length: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    starts = rng.random((1, length)) < 1e-3
    first = np.maximum.accumulate(np.where(starts, np.arange(length), 0), axis=1)
    return {
        "tokens": rng.integers(0, 256, (1, length)),
        "targets": rng.integers(0, 256, (1, length)),
        "mask": np.ones((1, length), np.float32),
        "segments": np.cumsum(starts, axis=1),
        "positions": np.arange(length) - first,
    }


@pytest.mark.soak
@pytest.mark.parametrize("heads", [8, 6])  # exchanged for heads; around a ring
def test_a_row_of_128k_tokens_has_an_eighth_of_its_activations_on_each_device(heads: int) -> None:
    sizes = []
    for sequence in (1, 8):
        step, params = program(131072, heads, sequence)
        lowered = step.lower(params, batch_of(131072))
        sizes.append(lowered.compile().memory_analysis().temp_size_in_bytes)
    assert sizes[0] / sizes[1] == pytest.approx(8, rel=0.1)


@pytest.mark.soak
@pytest.mark.parametrize("heads", [8, 6])
def test_a_row_of_16k_tokens_equals_one_device(heads: int) -> None:
    found = []
    for sequence in (1, 8):
        step, params = program(16384, heads, sequence)
        found.append(jax.device_get(step(params, batch_of(16384))))
    (one, grads), (eight, others) = found
    assert eight == pytest.approx(one, rel=1e-5)
    for a, b in zip(jax.tree.leaves(grads), jax.tree.leaves(others), strict=True):
        assert np.abs(a - b).max() <= 1e-4 * np.abs(a).max() or np.abs(a).max() < 1e-6
