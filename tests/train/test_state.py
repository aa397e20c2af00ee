"""All that training changes is one pytree (FLAX-6)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from barrow.train import Precision, StepSettings


@pytest.mark.parametrize(
    ("settings", "has"),
    [
        (StepSettings(), (False, False)),
        (StepSettings(Precision("fp16")), (True, False)),
        (StepSettings(ema=0.9), (False, True)),
    ],
)
def test_what_a_state_has(trial, settings, has) -> None:
    state = trial(settings=settings).state
    assert (state.scale is not None, state.ema is not None) == has
    assert int(state.step) == 0
    assert {x.dtype for x in jax.tree.leaves(state.params)} == {jnp.dtype(jnp.float32)}
    leaves, structure = jax.tree.flatten(state)
    again = jax.tree.unflatten(structure, leaves)
    assert jax.tree.structure(again) == structure
    assert len(leaves) > 3 * len(jax.tree.leaves(state.params))
