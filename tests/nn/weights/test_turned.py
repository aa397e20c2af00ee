"""Weights with their outputs first: the same products, in another order."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.models import Decoder, DecoderConfig
from barrow.models.decoder.generate import for_decoding
from barrow.nn.weights.turned import Turned, turned


def drawn(*shape: int, seed: int = 0) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


@pytest.mark.parametrize("rows", [1, 2, 32, 33])
def test_products_are_those_of_the_weight(rows: int) -> None:
    for shape, num_in in (((6, 10), 1), ((6, 5, 4), 1), ((3, 2, 10), 2)):
        weight = drawn(*shape)
        x = drawn(1, rows, *shape[:num_in], seed=1)
        other = Turned.of(weight, num_in)
        assert other.shape == weight.shape
        np.testing.assert_array_equal(other.array(), weight)
        expected = np.tensordot(x, weight, axes=num_in)
        np.testing.assert_allclose(nn.dot(x, other, num=num_in), expected, atol=1e-5)
    table = drawn(9, 6)
    x = drawn(rows, 6, seed=2)
    other = Turned.of(table, None)
    np.testing.assert_allclose(nn.dot(x, other, transposed=True), x @ table.T, atol=1e-5)
    np.testing.assert_array_equal(other.rows(jnp.asarray([3, 0])), table[jnp.asarray([3, 0])])


def test_the_product_of_a_few_rows_is_not_turned_back() -> None:
    """The weight is the first operand: the other one is packed."""
    other = Turned.of(drawn(6, 10), 1)
    text = jax.jit(lambda x: nn.dot(x, other)).lower(drawn(8, 6)).compile().as_text()
    assert "f32[10,8]" in text
    text = jax.jit(lambda x: nn.dot(x, other)).lower(drawn(64, 6)).compile().as_text()
    assert "f32[10,64]" not in text


@pytest.mark.parametrize("tied", [True, False])
def test_a_whole_model(tied: bool) -> None:
    config = DecoderConfig(vocab_size=50, width=16, layers=2, heads=2, hidden=24, tied=tied)
    model = Decoder(config, unroll=True)
    tokens = jnp.asarray([[3, 1, 4, 1, 5]])
    params = for_decoding(jax.jit(model.init)(jax.random.key(0), tokens))
    changed = turned(params)
    assert isinstance(changed["layers"][1]["attention"]["out"]["kernel"], Turned)
    assert isinstance(changed["embed"]["table"], Turned)
    apply = jax.jit(model.apply)
    expected, _ = apply(params, tokens)
    found, _ = apply(changed, tokens)
    np.testing.assert_allclose(found, expected, atol=1e-5)
