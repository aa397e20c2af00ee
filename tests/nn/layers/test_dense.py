"""Dense (FLAX-9)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow import nn


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("bias", [True, False])
def test_as_torch(same_as_torch, normal, shape, bias) -> None:
    names = {"kernel": ("weight", np.transpose)} | ({"bias": ("bias", np.asarray)} if bias else {})
    theirs = ("Linear", (5, 7), {"bias": bias})
    same_as_torch(nn.Dense(7, bias=bias), theirs, normal(*shape), names)


def test_heads_are_a_dimension(same_as_torch, normal) -> None:
    names = {
        "kernel": ("weight", lambda w: w.T.reshape(6, 2, 4)),
        "bias": ("bias", lambda b: b.reshape(2, 4)),
    }
    model = nn.Dense((2, 4), axes=("embed", "heads", "head_dim"))
    theirs = ("Linear", (6, 8), {})
    same_as_torch(model, theirs, normal(3, 6), names, back=lambda y: y.reshape(3, 2, 4))


def test_several_dimensions_are_contracted(same_as_torch, normal) -> None:
    names = {
        "kernel": ("weight", lambda w: w.T.reshape(2, 4, 6)),
        "bias": ("bias", np.asarray),
    }
    model = nn.Dense(6, num_in=2, axes=("heads", "head_dim", "embed"))
    theirs = ("Linear", (8, 6), {})
    same_as_torch(model, theirs, normal(3, 2, 4), names, to=lambda x: x.reshape(3, 8))


def test_axes_and_the_spread_of_a_new_kernel(normal) -> None:
    model = nn.Dense(300, num_in=2, axes=("heads", "head_dim", "embed"))
    x = jnp.asarray(normal(4, 10, 20))
    assert nn.axes(model, x)["kernel"] == ("heads", "head_dim", "embed")
    assert nn.axes(model, x)["bias"] == ("embed",)
    params = model.init(jax.random.key(0), x)
    # Variance 1/n of all that is contracted, not of the first dimension alone.
    assert float(jnp.std(params["kernel"])) == pytest.approx(200**-0.5, rel=0.02)
    assert not jnp.any(params["bias"])


def test_the_type_is_that_of_x(normal) -> None:
    x = jnp.asarray(normal(2, 3), jnp.bfloat16)
    params = nn.Dense(4).init(jax.random.key(0), x)
    assert params["kernel"].dtype == jnp.float32
    assert nn.Dense(4).apply(params, x).dtype == jnp.bfloat16


def test_bad_input_names_the_place_and_both_shapes() -> None:
    params = nn.Dense(4).init(jax.random.key(0), jnp.ones((2, 3)))
    with pytest.raises(ValueError, match=r"kernel: the model expects shape \(5, 4\), got \(3, 4\)"):
        nn.Dense(4).apply(params, jnp.ones((2, 5)))
    with pytest.raises(ValueError, match=r"kernel: 2 axis names .* for the shape \(3, 4, 5\)"):
        nn.Dense((4, 5)).init(jax.random.key(0), jnp.ones((2, 3)))
    with pytest.raises(ValueError, match=r"model: x has shape \(3,\), 2 are contracted"):
        nn.Dense(4, num_in=2).init(jax.random.key(0), jnp.ones(3))
