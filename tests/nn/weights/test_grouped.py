from __future__ import annotations

import gguf
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.nn.weights.grouped import Grouped, packed

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("inputs", "outputs"), [((8,), (3,)), ((10,), (2, 3)), ((2, 5), (3,))])
def test_a_product_is_that_of_values_times_scales(
    bits: int, inputs: tuple[int, ...], outputs: tuple[int, ...]
) -> None:
    """Inputs that do not fill the last group of 4 among them."""
    num, out = int(np.prod(inputs)), int(np.prod(outputs))
    groups = -(-num // 4)
    values = RNG.integers(-8, 8, (groups, 4, out)).astype(np.int8)
    scales = RNG.normal(size=(groups, out)).astype(np.float32)
    stored = packed(values) if bits == 4 else values
    held = Grouped(jnp.asarray(stored), jnp.asarray(scales), inputs, outputs, bits)
    assert held.shape == (*inputs, *outputs)
    wide = (values * scales[:, None]).reshape(-1, out)[:num].reshape(*inputs, *outputs)
    np.testing.assert_allclose(held.array(), wide, rtol=1e-6)
    x = RNG.normal(size=(5, *inputs)).astype(np.float32)
    found = nn.dot(jnp.asarray(x), held, num=len(inputs))
    np.testing.assert_allclose(found, np.tensordot(x, wide, len(inputs)), rtol=1e-4, atol=1e-5)


def test_bytes_are_in_the_order_of_gguf() -> None:
    """An independent reader: GGUF's Q4_0 has groups of 32, its scale first, then 16 bytes."""
    values = RNG.integers(-8, 8, (1, 32, 1)).astype(np.int8)
    block = np.concatenate([np.float16([0.5]).view(np.uint8), packed(values).reshape(-1)])
    theirs = gguf.dequantize(block[None], gguf.GGMLQuantizationType.Q4_0)
    np.testing.assert_array_equal(theirs.reshape(-1), 0.5 * values.reshape(-1))


def test_layers_are_scanned_or_taken_apart() -> None:
    values = RNG.integers(0, 256, (3, 2, 2, 5)).astype(np.uint8)
    scales = RNG.normal(size=(3, 2, 5)).astype(np.float16)
    held = Grouped(jnp.asarray(values), jnp.asarray(scales), (8,), (5,), 4)
    assert held.shape == (3, 8, 5)
    x = jnp.ones((2, 8))
    _, scanned = jax.lax.scan(lambda c, w: (c, nn.dot(x, w)), None, held)
    each = [nn.dot(x, jax.tree.map(lambda a, i=i: a[i], held)) for i in range(3)]
    np.testing.assert_allclose(scanned, jnp.stack(each), rtol=1e-6)


def test_the_kernel_is_not_kept_for_the_gradient() -> None:
    held = Grouped(jnp.zeros((2, 4, 32), jnp.uint8), jnp.ones((2, 32)), (16,), (32,), 4)
    _, back = jax.vjp(lambda x: nn.dot(x, held), jnp.ones((3, 16)))
    (grad,) = back(jnp.ones((3, 32)))
    np.testing.assert_array_equal(grad, np.full((3, 16), -8 * 32))
    kept = [x.size for x in jax.tree.leaves(back) if jnp.issubdtype(x.dtype, jnp.floating)]
    assert max(kept) < 16 * 32
