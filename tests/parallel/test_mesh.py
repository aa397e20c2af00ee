"""Meshes (FLAX-5, ACCELERATE-12)."""

from __future__ import annotations

import jax
import pytest

from barrow.parallel import AXES, make_mesh, num_row_shards


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ({}, (1, 8, 1, 1, 1, 1)),
        ({"fsdp": 4}, (1, 2, 4, 1, 1, 1)),
        ({"data": 2, "fsdp": -1}, (1, 2, 4, 1, 1, 1)),
        ({"data": 1, "fsdp": 8}, (1, 1, 8, 1, 1, 1)),
        ({"sequence": 2, "tensor": 2}, (1, 2, 1, 1, 2, 2)),
        ({"data": 1, "tensor": -1}, (1, 1, 1, 1, 1, 8)),
        ({"expert": 4}, (1, 2, 1, 4, 1, 1)),
        ({"stage": 4}, (4, 2, 1, 1, 1, 1)),
    ],
)
def test_what_is_left_is_filled_in(sizes, found) -> None:
    mesh = make_mesh(**sizes)
    assert mesh.axis_names == AXES == ("stage", "data", "fsdp", "expert", "sequence", "tensor")
    assert tuple(mesh.shape.values()) == found
    assert num_row_shards(mesh) == found[1] * found[2] * found[3]


def test_neighbours_lie_along_the_last_axis() -> None:
    mesh = make_mesh(data=2, tensor=4)
    assert [d.id for d in mesh.devices.reshape(2, 4)[0]] == [d.id for d in jax.devices()[:4]]


def test_some_of_the_devices() -> None:
    assert num_row_shards(make_mesh(devices=jax.devices()[:3])) == 3


@pytest.mark.parametrize("sizes", [{"data": 3}, {"fsdp": 3}, {"data": 2, "fsdp": 2}])
def test_sizes_that_do_not_fit(sizes) -> None:
    with pytest.raises(
        ValueError, match=r"than there are: 8; .* XLA_FLAGS=--xla_force_host_platform_dev"
    ):
        make_mesh(**sizes)


@pytest.mark.parametrize("sizes", [{"data": -1, "fsdp": -1}, {"data": 0}, {"fsdp": -2}])
def test_sizes_that_are_none(sizes) -> None:
    with pytest.raises(ValueError, match="sizes must be ≥ 1, and at most one -1"):
        make_mesh(**sizes)
