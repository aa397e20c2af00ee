"""Recurrent cells, and a cell run over time."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.initialisers import Initialiser
from barrow.nn.inner import Variables, describe_inner, pure, variables, write_back
from barrow.nn.layers.dense import Dense
from barrow.nn.module import Module
from barrow.nn.scope import Scope


@dataclass(frozen=True)
class Cell(Module):
    """One step in time: ``cell(scope, carry, x) -> (carry, output)``."""

    features: int
    bias: bool = True
    weight_init: Initialiser | None = None

    @abstractmethod
    def start(self, rows: tuple[int, ...], dtype: Any) -> Any:
        """The carry before the first step."""

    def gates(self, scope: Scope, name: str, x: jax.Array, num: int) -> jax.Array:
        """x·W + b for each gate: [..., num, features]."""
        # Only x's dimension may be called `embed`: a hidden one on both sides would be on
        # the same devices twice.
        axes = ("embed" if name == "input" else None, None, "mlp")
        dense = Dense((num, self.features), bias=self.bias, axes=axes, weight_init=self.weight_init)
        y: jax.Array = dense(scope / name, x)
        return y


@dataclass(frozen=True)
class LSTMCell(Cell):
    """c ← f∘c + i∘g, h ← o∘tanh(c); i, f, o = σ and g = tanh of x·W + b + h·U + b'.

    The carry is (h, c), the output h. Gates are in the order i, f, g, o, as in PyTorch.
    """

    def start(self, rows: tuple[int, ...], dtype: Any) -> tuple[jax.Array, jax.Array]:
        """Zeros."""
        return jnp.zeros((*rows, self.features), dtype), jnp.zeros((*rows, self.features), dtype)

    def forward(
        self, scope: Scope, carry: tuple[jax.Array, jax.Array], x: jax.Array
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        """The next carry, and its h."""
        h, c = carry
        gates = self.gates(scope, "input", x, 4) + self.gates(scope, "hidden", h, 4)
        i, f, g, o = (gates[..., k, :] for k in range(4))
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h


@dataclass(frozen=True)
class GRUCell(Cell):
    """h ← (1 − z)∘n + z∘h with r, z = σ(x·W + b + h·U + b'), n = tanh(x·W + b + r∘(h·U + b')).

    The carry and the output are h. Gates are in the order r, z, n, as in PyTorch.
    """

    def start(self, rows: tuple[int, ...], dtype: Any) -> jax.Array:
        """Zeros."""
        return jnp.zeros((*rows, self.features), dtype)

    def forward(self, scope: Scope, carry: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The next carry, twice."""
        of_x, of_h = self.gates(scope, "input", x, 3), self.gates(scope, "hidden", carry, 3)
        r = jax.nn.sigmoid(of_x[..., 0, :] + of_h[..., 0, :])
        z = jax.nn.sigmoid(of_x[..., 1, :] + of_h[..., 1, :])
        n = jnp.tanh(of_x[..., 2, :] + r * of_h[..., 2, :])
        h = (1 - z) * n + z * carry
        return h, h


@dataclass(frozen=True)
class Recurrent(Module):
    """A cell over x [batch, time, features], its parameters the same at every step.

    Where `mask` [batch, time] is false, or at and past the row's `lengths`, the carry stays as it
    was and the output is 0. With `reverse` time runs backwards: rows begin at their last real
    place. A key is split, one for each step; captured intermediates have a leading dimension of
    time. Cells that write other collections are refused.
    """

    cell: Cell
    reverse: bool = False

    def forward(
        self,
        scope: Scope,
        x: jax.Array,
        *,
        carry: Any = None,
        lengths: jax.Array | None = None,
        mask: jax.Array | None = None,
    ) -> tuple[jax.Array, Any]:
        """Outputs [batch, time, features], and the carry after each row's last step."""
        if x.ndim != 3:
            raise ValueError(f"{scope.name}: x must be [batch, time, features], got {x.shape}")
        batch, num_steps, _ = x.shape
        real = _real(scope, lengths, mask, (batch, num_steps))
        carry = self.cell.start((batch,), x.dtype) if carry is None else carry
        inner = scope / "cell"
        if scope.trace.is_describing:
            carry, y = describe_inner(inner, self.cell, carry, x[:, 0])
            return jnp.broadcast_to(y[:, None], (batch, num_steps, *y.shape[1:])), carry
        held, function = variables(inner), pure(inner, self.cell)
        keys = {name: jax.random.split(key, num_steps) for name, key in held.keys.items()}

        def step(before: Any, given: tuple[Any, jax.Array, jax.Array]) -> tuple[Any, Any]:
            own, now, at = given
            here = Variables(held.params, held.collections, own)
            (after, y), written = function(here, before, at)
            after, y = (
                jax.tree.map(lambda new, old: jnp.where(now[:, None], new, old), new, old)
                for new, old in ((after, before), (y, jax.tree.map(jnp.zeros_like, y)))
            )
            return after, (y, written)

        steps = (keys, real.T, jnp.moveaxis(x, 1, 0))
        with jax.named_scope("cell"):
            carry, (y, written) = lax.scan(step, carry, steps, reverse=self.reverse)
        if set(written) - {"intermediates"}:
            raise ValueError(f"{inner.name}: a cell over time cannot write {sorted(written)}")
        write_back(inner, written)
        return jnp.moveaxis(y, 0, 1), carry


def _real(
    scope: Scope, lengths: jax.Array | None, mask: jax.Array | None, shape: tuple[int, int]
) -> jax.Array:
    """Which places are real, [batch, time]."""
    if lengths is not None and mask is not None:
        raise ValueError(f"{scope.name}: pass `lengths` or `mask`, not both")
    if lengths is not None:
        if lengths.shape != shape[:1]:
            raise ValueError(
                f"{scope.name}: lengths must have shape {shape[:1]}, got {lengths.shape}"
            )
        return jnp.arange(shape[1]) < lengths[:, None]
    if mask is None:
        return jnp.ones(shape, bool)
    if mask.shape != shape:
        raise ValueError(f"{scope.name}: mask must have shape {shape}, got {mask.shape}")
    return mask.astype(bool)
