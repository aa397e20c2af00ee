"""Weights with their outputs first stand for the same numbers, plain and quantized."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.nn import row_products
from barrow.nn.tree import Tree
from barrow.nn.weights.grouped import Grouped, packed
from barrow.nn.weights.per_channel import PerChannel
from barrow.nn.weights.row_weight import RowWeight, in_rows


def in_fours(weight: np.ndarray, num_in: int) -> Grouped:
    inputs, outputs = weight.shape[:num_in], weight.shape[num_in:]
    groups = weight.reshape(-1, 64, int(np.prod(outputs)))
    scales = np.abs(groups).max(axis=1) / 7
    numbers = np.round(groups / scales[:, None]).astype(np.int8)
    return Grouped(jnp.asarray(packed(numbers)), jnp.asarray(scales), inputs, outputs, 4)


@pytest.mark.parametrize("kind", ["plain", "int8", "4 bits"])
@pytest.mark.parametrize("num_in", [1, 2])
@pytest.mark.parametrize("rows", [1, 5])
def test_it_is_the_same_weight(kind: str, num_in: int, rows: int) -> None:
    random = np.random.default_rng(0)
    shape = (128, 3, 5) if num_in == 1 else (2, 64, 7)
    plain = random.normal(size=shape).astype(np.float32)
    leaf: Any = jnp.asarray(plain)
    if kind == "int8":
        leaf = PerChannel.rounded(leaf, num_in=num_in)
    elif kind == "4 bits":
        leaf = in_fours(plain, num_in)
    turned = RowWeight.of(leaf, num_in)
    assert turned is not None
    assert turned.shape == leaf.shape == shape
    assert turned.dtype == leaf.dtype
    whole = leaf if kind == "plain" else leaf.array()
    np.testing.assert_allclose(turned.array(), whole, rtol=1e-6)
    x = jnp.asarray(random.normal(size=(rows, *shape[:num_in])), jnp.float32)
    wanted = np.tensordot(np.asarray(x, np.float64), np.asarray(whole, np.float64), num_in)
    np.testing.assert_allclose(nn.dot(x, turned, num=num_in), wanted, atol=1e-4)


@pytest.mark.parametrize("is_quantized", [False, True])
def test_a_table_gives_rows_and_logits(is_quantized: bool) -> None:
    random = np.random.default_rng(0)
    table: Any = jnp.asarray(random.normal(size=(9, 128)), jnp.float32)
    leaf = PerChannel.rounded(table, num_in=None) if is_quantized else table
    turned = RowWeight.of(leaf, None)
    assert turned is not None
    whole = leaf.array() if is_quantized else table
    np.testing.assert_allclose(turned.rows(jnp.asarray([3, 0])), whole[jnp.asarray([3, 0])])
    assert np.isnan(turned.rows(jnp.asarray([9]))).all()
    x = jnp.asarray(random.normal(size=(2, 128)), jnp.float32)
    np.testing.assert_allclose(nn.dot(x, turned, transposed=True), x @ whole.T, atol=1e-4)


def test_a_few_rows_use_the_kernel_and_many_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[tuple[int, ...]] = []

    def kernel(x: jax.Array, *given: Any, **how: Any) -> Any:
        used.append(x.shape)
        return row_products.plain(x, *given, **how)

    monkeypatch.setattr(row_products, "is_hopper", lambda: True)
    monkeypatch.setattr(row_products, "_kernel", kernel)
    turned = RowWeight.of(jnp.ones((128, 64), jnp.bfloat16), 1)
    assert turned is not None
    for rows in (1, 4, 5):
        jax.eval_shape(lambda x: nn.dot(x, turned), jnp.ones((rows, 128), jnp.bfloat16))
    assert used == [(1, 128), (4, 128)]


def test_others_stay() -> None:
    plain = jnp.ones((128, 8))
    dynamic = PerChannel(jnp.ones((128, 8), jnp.int8), jnp.ones(8), 1, dynamic=True)
    eight = Grouped(jnp.ones((2, 64, 8), jnp.int8), jnp.ones((2, 8)), (128,), (8,), 8)
    # 100 inputs, filled up to two groups.
    filled_up = Grouped(jnp.ones((2, 32, 8), jnp.uint8), jnp.ones((2, 8)), (100,), (8,), 4)
    params = Tree(
        {
            "out": Tree({"kernel": filled_up}),
            "up": Tree({"kernel": plain, "bias": jnp.ones(8)}),
            "down": Tree({"kernel": dynamic}),
            "gate": Tree({"kernel": eight}),
        }
    )
    found = in_rows(params, "bfloat16")
    assert isinstance(found["up"]["kernel"], RowWeight)
    assert found["up"]["kernel"].dtype == jnp.bfloat16
    assert isinstance(found["up"]["bias"], jax.Array)
    assert found["down"]["kernel"] is dynamic
    assert found["gate"]["kernel"] is eight
    assert found["out"]["kernel"] is filled_up
