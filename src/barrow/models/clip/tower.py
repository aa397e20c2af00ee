"""The transformer of both towers, whose output is read at one position of each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp

from barrow.nn.attention.attention import Backend, attention
from barrow.nn.attention.multi_head import MultiHead
from barrow.nn.attention.visible import Visible
from barrow.nn.initialisers import normal
from barrow.nn.layers.block import Block
from barrow.nn.layers.dense import Dense
from barrow.nn.layers.mlp import MLP
from barrow.nn.layers.norms import LayerNorm
from barrow.nn.layers.remat import Policy
from barrow.nn.layers.repeat import Repeat, put_together, take_apart
from barrow.nn.module import Module
from barrow.nn.scope import Scope
from barrow.nn.tree import Tree


@dataclass(frozen=True)
class Running:
    """How a tower is run; parameters fit every choice. `dtype` is the type of activations."""

    unroll: bool = False
    remat: Policy | None = None
    backend: Backend = "auto"
    dtype: str = "float32"


@dataclass(frozen=True)
class Tower(Module):
    """`layers` pre-norm blocks; the last computes only the requested position.

    One of a row's 50 positions is used; the last block's queries and feed-forward net for the other
    49 would be wasted, a fifteenth of all work in 12 layers. Its parameters are under `last`, those
    of the others, stacked, under `layers`.
    """

    layers: int
    heads: int
    causal: bool
    activation: str = "quick_gelu"
    eps: float = 1e-5
    running: Running = field(default_factory=Running)

    def forward(self, scope: Scope, x: jax.Array, at: jax.Array | int) -> jax.Array:
        """[batch, width] of x [batch, length, width], at places `at`: [batch], or one for all."""
        block = self._block(x.shape[-1])
        if self.layers > 1:
            repeat = Repeat(
                block, self.layers - 1, unroll=self.running.unroll, remat=self.running.remat
            )
            x, _ = repeat(scope / "layers", x)
        places = jnp.broadcast_to(jnp.asarray(at, jnp.int32), x.shape[:1])
        seen = places + 1 if self.causal else None
        return OnePlace(block)(scope / "last", x, places, seen)  # type: ignore[no-any-return]

    def _block(self, width: int) -> Block:
        # OpenAI's: what is added to the residual 2·layers times starts smaller by its root.
        back = normal(width**-0.5 * (2 * self.layers) ** -0.5)
        heads = MultiHead(
            self.heads,
            causal=self.causal,
            backend=self.running.backend,
            weight_init=normal(width**-0.5),
            out_init=back,
        )
        mlp = MLP(
            4 * width,
            activation=self.activation,
            weight_init=normal((2 * width) ** -0.5),
            out_init=back,
        )
        return Block(heads, mlp, LayerNorm(eps=self.eps))


@dataclass(frozen=True)
class OnePlace(Module):
    """A pre-norm `nn.Block` at one position of each row, with the same parameters."""

    block: Block

    def forward(
        self, scope: Scope, x: jax.Array, at: jax.Array, seen: jax.Array | None
    ) -> jax.Array:
        """[batch, width] of x [batch, length, width]; `seen` [batch] keys are seen, None: all."""
        heads, norm = self.block.attention, self.block.norm
        width = x.shape[-1]
        dim = width // heads.heads
        inside = scope / "attention"
        normed = norm(scope / "attention_norm", x)
        project = Dense(
            (heads.heads, dim),
            axes=("embed", "heads", "head_dim"),
            weight_init=heads.weight_init,
        )
        keys_axes = replace(project, axes=("embed", "kv_heads", "head_dim"))
        q = project(inside / "q", _one(normed, at))
        k = keys_axes(inside / "k", normed)
        v = keys_axes(inside / "v", normed)
        y = attention(q, k, v, Visible(lengths=seen), backend="xla")
        back = Dense(
            width, num_in=2, axes=("heads", "head_dim", "embed"), weight_init=heads.out_init
        )
        out = (_one(x, at) + back(inside / "out", y))[:, 0]
        fed: jax.Array = self.block.mlp(scope / "mlp", norm(scope / "mlp_norm", out))
        return scope.constrain(out + fed, "batch", "embed")


def towers_apart(params: Mapping[str, Any]) -> Tree:
    """A model's parameters with the layers of its towers unstacked.

    For towers that are unrolled and only applied: a slice of one array is copied at each use, and
    its product then adds no bias on the way.
    """
    return _towers(params, take_apart)


def towers_together(params: Mapping[str, Any]) -> Tree:
    """The layers of each tower in one array, whether they are already or not."""

    def change(tower: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        return put_together(tower, name) if isinstance(tower[name], tuple) else tower

    return _towers(params, change)


def _towers(
    params: Mapping[str, Any], change: Callable[[Mapping[str, Any], str], Mapping[str, Any]]
) -> Tree:
    changed = {}
    for side in ("image", "text"):
        tower = params[side].get("tower", {})
        if "layers" in tower:
            changed[side] = Tree({**params[side], "tower": change(tower, "layers")})
    return Tree({**params, **changed})


def _one(x: jax.Array, at: jax.Array) -> jax.Array:
    return jnp.take_along_axis(x, at[:, None, None], axis=1)
