"""The placement of a state (FLAX-5, DEEPSPEED-1)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from barrow import nn
from barrow.parallel import bytes_per_device, rows_sharding
from barrow.train import StepSettings


@pytest.fixture(scope="module")
def made(trial):
    return trial(settings=StepSettings(ema=0.9), mesh=(1, 8), stage=1)


def specs(tree):
    return {path: x.sharding.spec for path, x in nn.paths(tree).items()}


def test_moments_and_averages_lie_with_their_masters(made) -> None:
    state = made.state
    masters = specs(state.params)
    assert masters["embed/table"] == P(None, "fsdp")
    assert masters["layers/mlp/up/kernel"] == P(None, "fsdp", None)
    adam = state.optimizer[0]
    assert specs(adam.mu) == specs(adam.nu) == specs(state.ema) == masters
    assert adam.count.sharding.spec == P()
    assert state.step.sharding.spec == P()


def test_parameters_are_born_in_their_shards(made) -> None:
    """No device holds more than its part, while they are made and afterwards."""
    whole = 4 * nn.num_params(made.state.params)
    assert bytes_per_device(made.state.params) <= 1.05 * whole / 8
    placement = made.placement
    shapes = jax.eval_shape(lambda s: s, made.state)
    sharding = placement.of_state(shapes).params
    kernel = sharding["layers"]["mlp"]["up"]["kernel"]

    def init(key):
        return jax.random.normal(key, (2, 512, 512))

    program = jax.jit(init, out_shardings=kernel).lower(jax.random.key(0)).compile()
    memory = program.memory_analysis()
    assert memory.output_size_in_bytes == 2 * 512 * 512 * 4 // 8
    assert memory.temp_size_in_bytes < 2 * 512 * 512 * 4


def test_the_numbers_are_those_of_one_device(made, trial, apart) -> None:
    alone = trial(settings=StepSettings(ema=0.9))
    assert apart(made.state.params, alone.state.params) < 1e-6


def test_a_step_leaves_the_state_where_it_lies(made, trial, batch_of) -> None:
    fresh = trial(settings=StepSettings(ema=0.9), mesh=(1, 8), stage=1)
    before = jax.tree.map(lambda x: x.sharding, fresh.state)
    after, _ = fresh.run(batch_of(), batch_of(seed=1))
    same = jax.tree.map(lambda x, s: x.sharding.is_equivalent_to(s, x.ndim), after, before)
    assert all(jax.tree.leaves(same))


def test_rows(made) -> None:
    assert made.placement.rows() == rows_sharding(made.placement.mesh)


def test_laid_within_a_program(made) -> None:
    placement = made.placement
    laid = jax.jit(lambda p: placement.sharded(p, placement.zero.gradients))(made.state.params)
    assert all(x.sharding.is_fully_replicated for x in jax.tree.leaves(laid))
    np.testing.assert_array_equal(
        laid["embed"]["table"], jax.device_get(made.state.params["embed"]["table"])
    )
    assert laid["norm"]["scale"].dtype == jnp.float32
