"""Embeddings: a vector for each id; and, tied, the logits of ids for vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from barrow.nn.dot import dot
from barrow.nn.initialisers import Initialiser, normal
from barrow.nn.layers.row_sums import rows
from barrow.nn.module import Module
from barrow.nn.scope import Scope
from barrow.nn.trace import Axes


@runtime_checkable
class Rows(Protocol):
    """The protocol of a substitute for a table of embeddings, besides `nn.Weight`'s."""

    def rows(self, ids: jax.Array) -> jax.Array:
        """The vectors of ids; NaN for an id past the end."""


@dataclass(frozen=True)
class Embed(Module):
    """Row `id` of a table [num, features].

    An id outside the table is an error where ids are known. Under `jit` nothing can raise: such an
    id, also a negative one, gives NaN, which shows in the loss; plain JAX would wrap or clamp it
    and train on another row.
    """

    num: int
    features: int
    axes: Axes = ("vocab", "embed")
    weight_init: Initialiser = normal(0.02)

    def forward(self, scope: Scope, ids: jax.Array) -> jax.Array:
        """[...] → [..., features], in the table's type."""
        if not jnp.issubdtype(ids.dtype, jnp.integer):
            raise ValueError(f"{scope.name}: ids must be integers, got {ids.dtype}")
        if not isinstance(ids, jax.core.Tracer):
            self._refuse_unknown(scope, ids)
        table = self._table(scope)
        # `take` treats only ids past the end as outside: negative ones would count from the end.
        ids = jnp.where(ids < 0, self.num, ids)
        if not isinstance(table, jax.Array) and isinstance(table, Rows):
            return table.rows(ids)
        table = jnp.asarray(table)
        if jax.default_backend() == "gpu" and not any(
            map(scope.divides, ("batch", "length", "vocab"))
        ):
            return rows(table, ids)
        # Through float32: the gradient of a row that many places share is summed in it. In
        # bfloat16 a sum stops growing at 256 times the summand.
        return jnp.take(table.astype(jnp.float32), ids, axis=0, mode="fill").astype(table.dtype)

    def attend(self, scope: Scope, x: jax.Array) -> jax.Array:
        """x·Tᵀ: [..., features] → [..., num]. Call it with ``scope.again(name)`` of the table."""
        with jax.named_scope(scope.path[-1] if scope.path else type(self).__name__):
            if x.shape[-1] != self.features:
                raise ValueError(
                    f"{scope.name}: x must have {self.features} features, got shape {x.shape}"
                )
            return dot(x, self._table(scope), transposed=True)

    def _table(self, scope: Scope) -> Any:
        return scope.param("table", (self.num, self.features), self.weight_init, self.axes)

    def _refuse_unknown(self, scope: Scope, ids: jax.Array) -> None:
        known = np.asarray(ids)
        if known.size and (known.min() < 0 or known.max() >= self.num):
            wrong = known[(known < 0) | (known >= self.num)][0]
            raise ValueError(
                f"{scope.name}: id {wrong} is not in a table of {self.num} (0 to {self.num - 1})"
            )
