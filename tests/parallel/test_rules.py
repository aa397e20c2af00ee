"""One table from logical to mesh axes (FLAX-5, DEEPSPEED-1)."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.sharding import PartitionSpec as P

from barrow.parallel import (
    ZERO,
    Rules,
    bytes_per_device,
    constrainer,
    make_mesh,
    rows_sharding,
    shardings,
    whole,
)

MESH = make_mesh(data=2, fsdp=4)
NAMES = ("embed", "mlp", "vocab", "heads", "batch", None)


def test_rows_of_the_table_in_order() -> None:
    rules = Rules((("mlp", "fsdp"), ("embed", "fsdp")))
    assert rules.spec(("embed", "mlp"), (8, 8), MESH) == P(None, "fsdp")
    assert rules.spec(("embed", "other"), (8, 8), MESH) == P("fsdp", None)


def test_what_does_not_divide_stays_whole_and_a_later_row_takes_the_axis() -> None:
    rules = Rules((("mlp", "fsdp"), ("embed", "fsdp")))
    assert rules.spec(("embed", "mlp"), (8, 6), MESH) == P("fsdp", None)
    assert rules.spec(("embed", "mlp"), (6, 6), MESH) == P(None, None)


def test_an_axis_divides_one_dimension_at_most() -> None:
    assert Rules((("embed", "fsdp"),)).spec(("embed", "embed"), (8, 8), MESH) == P("fsdp", None)


def test_two_mesh_axes_for_one_dimension() -> None:
    rules = Rules((("batch", ("data", "fsdp")),))
    assert rules.spec(("batch", None), (16, 3), MESH) == P(("data", "fsdp"), None)
    assert rules.spec(("batch", None), (4, 3), MESH) == P(None, None)


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 16)), max_size=4),
    st.lists(
        st.tuples(st.sampled_from(NAMES[:-1]), st.sampled_from(["data", "fsdp", ("data", "fsdp")])),
        max_size=4,
    ),
)
def test_every_spec_can_be_laid(dims, rows) -> None:
    axes, shape = tuple(n for n, _ in dims), tuple(s for _, s in dims)
    spec = Rules(tuple(rows)).spec(axes, shape, MESH)
    used = []
    for name, size, onto in zip(axes, shape, spec, strict=True):
        if onto is not None:
            assert (name, onto) in rows
            mesh_axes = (onto,) if isinstance(onto, str) else onto
            used += mesh_axes
            assert size % math.prod(MESH.shape[a] for a in mesh_axes) == 0
    assert len(used) == len(set(used))


def test_names_and_dimensions_must_agree() -> None:
    with pytest.raises(ValueError, match=r"1 axis names \('embed',\) for the shape \(2, 3\)"):
        Rules().spec(("embed",), (2, 3), MESH)


@pytest.mark.parametrize(
    ("stage", "divided"),
    [
        (0, (False, False, False)),
        (1, (True, False, False)),
        (2, (True, True, False)),
        (3, (True, True, True)),
    ],
)
def test_stages_of_zero_are_rows_of_the_table(stage, divided) -> None:
    zero = ZERO[stage]
    for rules, is_divided in zip((zero.masters, zero.gradients, zero.params), divided, strict=True):
        wanted = P("fsdp", None) if is_divided else P(None, None)
        assert rules.spec(("embed", "mlp"), (8, 8), MESH) == wanted


def test_bytes_per_device() -> None:
    mesh = make_mesh(data=1, fsdp=8)
    tree = {"a": jnp.zeros((16, 8)), "b": jnp.zeros((3,), jnp.bfloat16)}
    axes = {"a": ("embed", "mlp"), "b": ("embed",)}
    laid = jax.device_put(tree, shardings(ZERO[3].params, axes, tree, mesh))
    assert bytes_per_device(laid) == 16 * 8 * 4 // 8 + 6
    assert bytes_per_device(jax.device_put(tree, whole(mesh))) == 16 * 8 * 4 + 6
    assert bytes_per_device({}) == 0


def test_rows_of_a_batch_and_of_activations() -> None:
    x = np.arange(16.0).reshape(16, 1, 1)
    batch = jax.device_put(x, rows_sharding(MESH))
    assert {shard.data.shape for shard in batch.addressable_shards} == {(2, 1, 1)}
    constrain = constrainer(ZERO[3].activations, MESH)
    laid = jax.jit(lambda x: constrain(x * 1, ("batch", "length", "embed")))(x)
    assert laid.sharding.is_equivalent_to(rows_sharding(MESH), 3)
    np.testing.assert_array_equal(laid, x)
