from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn
from barrow.nn.weights import few_rows, grouped, per_channel
from barrow.nn.weights.grouped import Grouped, packed
from barrow.nn.weights.per_channel import PerChannel

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("inputs", [(10,), (2, 5)])
def test_few_rows_as_any_other(inputs: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop for GPUs, on whatever runs the tests."""
    values = packed(RNG.integers(-8, 8, (3, 4, 6)).astype(np.int8))
    scales = RNG.normal(size=(3, 6)).astype(np.float16)
    four = Grouped(jnp.asarray(values), jnp.asarray(scales), inputs, (2, 3), 4)
    weight = jnp.asarray(RNG.normal(size=(*inputs, 2, 3)), jnp.float32)
    eight = PerChannel.rounded(weight, num_in=len(inputs))
    x = jnp.asarray(RNG.normal(size=(2, 1, *inputs)), jnp.float32)
    plain = [nn.dot(x, held, num=len(inputs)) for held in (four, eight)]
    for module in (grouped, per_channel):
        monkeypatch.setattr(module, "is_few", lambda x, num: True)
    for held, expected in zip((four, eight), plain, strict=True):
        found = nn.dot(x, held, num=len(inputs))
        assert found.shape == expected.shape == (2, 1, 2, 3)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert not few_rows.is_few(x, len(inputs))  # no GPU here
