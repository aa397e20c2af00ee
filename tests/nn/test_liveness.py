from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from barrow.nn.liveness import peak

SQUARE = jax.ShapeDtypeStruct((16, 16), jnp.float32)  # 1 KiB
KIB = 1024


def size(aval: Any) -> float:
    return float(math.prod(aval.shape) * aval.dtype.itemsize)


def peak_of(function: Any, *args: Any) -> Any:
    return peak(jax.make_jaxpr(function)(*args).jaxpr, size)


def test_a_chain_of_products_needs_two_at_a_time() -> None:
    found = peak_of(lambda x: (x @ x) @ x @ x @ x, SQUARE)
    # Results are not counted: two products exist at once, of four.
    assert found.total == 2 * KIB
    assert found.written == 3 * KIB
    assert peak_of(jax.jit(lambda x: (x @ x) @ x @ x @ x), SQUARE) == found


def test_cheap_operations_are_fused_unless_a_product_reads_them() -> None:
    assert peak_of(lambda x: jnp.sum(jnp.exp(x) * 2 + 1), SQUARE).total == 0
    # One value exists: the sum that the product reads.
    assert peak_of(lambda x: (jnp.exp(x) * 2 + 1) @ x, SQUARE).total == KIB


def test_what_the_backward_pass_needs_is_kept() -> None:
    def loss(x: Any, depth: int) -> Any:
        for _ in range(depth):
            x = jnp.tanh(x @ x)
        return jnp.sum(x)

    four, eight = (peak_of(jax.grad(lambda x, n=n: loss(x, n)), SQUARE).total for n in (4, 8))
    assert eight - four >= 4 * KIB


def test_a_loop_stacks_what_it_keeps_and_recomputing_keeps_less() -> None:
    def body(x: Any, _: None) -> Any:
        return jnp.tanh(jnp.tanh(x @ x) @ x), None

    def loss(x: Any, step: Any) -> Any:
        return jnp.sum(jax.lax.scan(step, x, None, length=32)[0])

    plain = peak_of(jax.grad(lambda x: loss(x, body)), SQUARE)
    again = peak_of(jax.grad(lambda x: loss(x, jax.checkpoint(body))), SQUARE)
    assert plain.kept >= 3 * 32 * KIB  # x and both results
    assert 32 * KIB <= again.kept <= 34 * KIB  # x alone
    assert again.during < 16 * KIB
