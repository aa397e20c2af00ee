"""The compiled programs of a step that learns from rollouts.

`measure` and `add` run one program, which computes the gradient of rows only if asked: the
forward pass is the same code in the same program. So log-probabilities measured before an update
are, bit for bit, those that the update's first pass computes again.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax

from barrow.align.rollouts.objective import Outputs, PolicyObjective
from barrow.parallel.placement import Placement
from barrow.train.gradients import params_in_use
from barrow.train.objectives.objective import Loss
from barrow.train.state import TrainState
from barrow.train.step import StepMetrics, StepSettings, clipped, updated

# Gradients of totals, and what they are divided by.
Sums = tuple[Any, Loss]


class Programs:
    """See above; `update` makes a step of the optimizer of gathered sums."""

    def __init__(
        self,
        objective: PolicyObjective,
        optimizer: optax.GradientTransformation,
        settings: StepSettings,
        placement: Placement | None,
    ) -> None:
        self._objective, self._optimizer = objective, optimizer
        self._settings, self._placement = settings, placement
        self._pass = jax.jit(self._passed, donate_argnums=2)
        self._update: Any = None
        self._zeros: Any = None
        self._reference = jax.jit(self._referred)

    def measure(self, state: TrainState, rows: Any) -> Outputs:
        """What the model gives for rows."""
        zeros = self._none(state, rows)
        outputs: Outputs
        self._zeros, outputs = self._pass(state.params, state.collections, zeros, rows, False)
        return outputs

    def add(self, state: TrainState, sums: Sums | None, rows: Any) -> Sums:
        """Sums with the gradient and the loss of more rows."""
        sums = self._none(state, rows) if sums is None else sums
        found: Sums = self._pass(state.params, state.collections, sums, rows, True)[0]
        return found

    def update(self, state: TrainState, sums: Sums) -> tuple[TrainState, StepMetrics]:
        """A step of the optimizer; the state is donated."""
        if self._update is None:
            out = None
            if self._placement is not None:
                out = (self._placement.of_state(jax.eval_shape(lambda s: s, state)), None)
            self._update = jax.jit(self._updated, donate_argnums=0, out_shardings=out)
        after: tuple[TrainState, StepMetrics] = self._update(state, sums)
        return after

    def reference(self, state: TrainState, rows: Any) -> jax.Array:
        """Log-probabilities of the reference."""
        found: jax.Array = self._reference(state.params, state.collections, rows)
        return found

    def _none(self, state: TrainState, rows: Any) -> Sums:
        """Sums of nothing; those of a pass that only measured are used again."""
        if self._zeros is not None:
            zeros, self._zeros = self._zeros, None
            return zeros  # type: ignore[no-any-return]
        key = jax.random.key(0)
        loss = jax.eval_shape(self._objective.loss, state.params, state.collections, rows, key)
        grads = jax.jit(partial(jax.tree.map, lambda x: jnp.zeros(x.shape, jnp.float32)))
        none = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), replace(loss, collections=()))
        return grads(state.params), none

    def _in_use(self, params: Any) -> Any:
        return params_in_use(params, self._settings.precision, self._placement)

    def _passed(
        self, params: Any, frozen: Any, sums: Sums, rows: Any, is_learned: jax.Array
    ) -> tuple[Sums, Outputs]:
        if self._placement is not None:
            rows = self._placement.batch(rows)
        used = self._in_use(params)
        outputs, back = jax.vjp(lambda p: self._objective.outputs(p, frozen, rows), used)

        def learn(sums: Sums) -> Sums:
            grads, before = sums

            def total(outputs: Outputs) -> tuple[jax.Array, Loss]:
                loss = self._objective.loss_of(outputs, rows)
                return loss.total, replace(loss, collections=())

            above, loss = jax.grad(total, has_aux=True)(outputs)
            (more,) = back(above)
            grads = jax.tree.map(lambda a, b: a + b.astype(jnp.float32), grads, more)
            return self._sharded(grads), jax.tree.map(jnp.add, before, loss)

        return jax.lax.cond(is_learned, learn, lambda sums: sums, sums), outputs

    def _sharded(self, grads: Any) -> Any:
        if self._placement is None:
            return grads
        return self._placement.sharded(grads, self._placement.zero.masters)

    def _referred(self, params: Any, frozen: Any, rows: Any) -> jax.Array:
        return self._objective.reference(self._in_use(params), frozen, rows)

    def _updated(self, state: TrainState, sums: Sums) -> tuple[TrainState, StepMetrics]:
        grads, loss = sums
        loss = replace(loss, collections=state.collections)
        found = clipped(grads, loss, self._settings, placement=self._placement)
        return updated(state, found, self._optimizer, self._settings), found.metrics
