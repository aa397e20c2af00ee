from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.models import Decoder, DecoderConfig
from barrow.models.decoder.generate import for_decoding
from barrow.nn.weights.kernels import with_int8
from barrow.nn.weights.per_channel import PerChannel


def drawn(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(0, 1, shape), jnp.float32)


@pytest.mark.parametrize(("shape", "num"), [((6, 4), 1), ((6, 2, 4), 1), ((2, 3, 4), 2)])
def test_a_product_is_that_of_the_rounded_weight(shape: tuple[int, ...], num: int) -> None:
    weight = drawn(*shape) * 10.0 ** jnp.arange(4)  # channels of very different sizes
    held = PerChannel.rounded(weight, num_in=num)
    inputs = tuple(range(num))
    steps = np.abs(np.asarray(weight)).max(axis=inputs, keepdims=True) / 127
    rounded = np.round(np.asarray(weight) / steps) * steps
    assert (np.abs(rounded - np.asarray(weight)) <= 0.5001 * steps).all()
    x = drawn(5, *shape[:num])
    expected = np.tensordot(np.asarray(x), rounded, axes=num)
    np.testing.assert_allclose(nn.dot(x, held, num=num), expected, rtol=1e-5, atol=1e-4)


def test_a_table_gives_rows_and_logits() -> None:
    table = drawn(9, 8) * jnp.arange(1, 10)[:, None]
    held = PerChannel.rounded(table, num_in=None)
    rows = held.rows(jnp.asarray([[3, 8, 9]]))
    np.testing.assert_allclose(rows[0, :2], table[jnp.asarray([3, 8])], atol=0.15)
    assert np.isnan(np.asarray(rows[0, 2])).all()
    x = drawn(2, 8)
    found = nn.dot(x, held, transposed=True)
    np.testing.assert_allclose(found, x @ held.rows(jnp.arange(9)).T, rtol=1e-5, atol=1e-4)


def test_a_decoder_with_int8_weights_is_near_the_original() -> None:
    config = DecoderConfig(vocab_size=40, width=32, layers=1, heads=4, hidden=48, context=16)
    model = Decoder(config, unroll=True)
    tokens = jnp.arange(8)[None]
    shapes = jax.eval_shape(model.init, jax.random.key(0), tokens)
    rng = np.random.default_rng(0)
    params = for_decoding(
        jax.tree.map(lambda s: jnp.asarray(0.2 * rng.standard_normal(s.shape), s.dtype), shapes)
    )
    small = with_int8(params)
    sizes = [sum(x.nbytes for x in jax.tree.leaves(tree)) for tree in (params, small)]
    assert sizes[1] < 0.4 * sizes[0]
    run = jax.jit(lambda params: model.apply(params, tokens)[0])
    plain, rounded = run(params), run(small)
    assert 0 < float(jnp.abs(plain - rounded).max()) < 0.05 * float(jnp.abs(plain).max())


def test_dynamic_activations_are_the_product_of_integers() -> None:
    weight, x = drawn(24, 6), drawn(5, 24) * 10.0 ** jnp.arange(-2, 3)[:, None]
    held = replace(PerChannel.rounded(weight, num_in=1), dynamic=True)
    steps = np.abs(np.asarray(x, np.float64)).max(axis=1, keepdims=True) / 127
    integers = np.round(np.asarray(x) / steps)
    expected = integers @ np.asarray(held.values, np.float64) * steps * np.asarray(held.scales)
    np.testing.assert_allclose(nn.dot(x, held), expected, rtol=1e-5)
    np.testing.assert_allclose(nn.dot(x, held), x @ weight, atol=0.03 * np.abs(x @ weight).max())


def test_inputs_divide_x_and_the_weight_it_represents() -> None:
    weight, factors = drawn(2, 3, 4), jnp.arange(1.0, 7).reshape(2, 3)
    moved = PerChannel.rounded(weight * factors[..., None], num_in=2)
    held = replace(moved, inputs=factors)
    np.testing.assert_allclose(held.array(), weight, atol=0.1)
    x = drawn(5, 2, 3)
    found = nn.dot(x, held, num=2)
    np.testing.assert_allclose(found, nn.dot(x, held.array(), num=2), rtol=1e-4, atol=1e-5)


def test_gradients_pass_a_frozen_weight() -> None:
    held = PerChannel.rounded(drawn(6, 4), num_in=1)
    x = drawn(3, 6)
    _, back = jax.vjp(lambda x: nn.dot(x, held), x)
    (grad,) = back(jnp.ones((3, 4)))
    np.testing.assert_allclose(grad, np.tile(held.array().sum(axis=1), (3, 1)), rtol=1e-5)
    # Its values are kept as int8.
    kept = [x.size for x in jax.tree.leaves(back) if jnp.issubdtype(x.dtype, jnp.floating)]
    assert max(kept) < 6 * 4
