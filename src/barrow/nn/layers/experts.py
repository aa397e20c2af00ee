"""A mixture of experts: a router chooses, for each token, a few of many MLPs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.by_group import Blocks, dot_by_group
from barrow.nn.initialisers import Initialiser, fan_in
from barrow.nn.layers.activations import activation
from barrow.nn.layers.dense import Dense
from barrow.nn.layers.exchange import exchanged
from barrow.nn.module import Module
from barrow.nn.scope import Scope

# The collection that training requests; its values have an entry for each row.
ROUTER = "router"


@dataclass(frozen=True)
class Routing:
    """How tokens choose experts.

    - `count`: experts of a layer; `top_k`: how many of them compute each token.
    - `normalise`: the weights of a token's experts add up to 1; else they are its probabilities.
    - `capacity`: in training an expert takes so many times its even share of a row's tokens, first
      choices first; the rest are dropped. None drops no token.
    - `balance`, `z`: coefficients of the two losses that training adds (see `Experts`).
    """

    count: int = 8
    top_k: int = 2
    normalise: bool = True
    capacity: float | None = None
    balance: float = 0.01
    z: float = 0.001

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"count must be ≥ 1, got {self.count}")
        if not 1 <= self.top_k <= self.count:
            raise ValueError(f"top_k must be from 1 to the {self.count} experts, got {self.top_k}")
        if self.capacity is not None and not self.capacity > 0:
            raise ValueError(f"capacity must be > 0, got {self.capacity}; null drops no token")
        if not min(self.balance, self.z) >= 0:
            raise ValueError(f"balance and z must be ≥ 0, got {self.balance} and {self.z}")

    def room(self, length: int) -> int:
        """Tokens that an expert takes of a row."""
        share = length * self.top_k / self.count
        return length if self.capacity is None else min(length, math.ceil(self.capacity * share))


@dataclass(frozen=True)
class Experts(Module):
    """Σ wₑ·MLPₑ(x) over the `top_k` experts with the highest probabilities softmax(x·router).

    The router computes in float32. Experts have no biases. Where training requests the collection
    `ROUTER`, these are written for each row of n tokens, padding not counted:

    balance  count · Σ fₑ·pₑ: fₑ is how often e was chosen, over n, pₑ the mean probability (Switch
             Transformer's loss; `top_k` where all experts are chosen equally often)
    z        the mean of logsumexp(x·router)², which keeps logits small
    load     how often each expert was chosen; dropped, kept: choices without and with a place
    penalty  coefficients · (balance, z)

    Rows do not depend on one another, so the numbers are the same however a batch is divided.
    """

    routing: Routing
    hidden: int
    activation: str = "silu"
    gated: bool = True
    weight_init: Initialiser = fan_in(num_in=1)
    out_init: Initialiser = fan_in(num_in=1)

    def __post_init__(self) -> None:
        activation(self.activation)

    def forward(self, scope: Scope, x: jax.Array, real: jax.Array | None = None) -> jax.Array:
        """The shape of x [batch, length, embed]; 0 where `real` [batch, length] is false."""
        x, routing, width = jnp.asarray(x), self.routing, x.shape[-1]
        if x.ndim != 3:
            raise ValueError(f"{scope.name}: x must be [batch, length, embed], got {x.shape}")
        real = jnp.ones(x.shape[:2], jnp.bool_) if real is None else real
        router = Dense(
            routing.count, bias=False, axes=("embed", None), weight_init=self.weight_init
        )
        with jax.default_matmul_precision("highest"):
            logits = router(scope / "router", x.astype(jnp.float32))
        probabilities = jax.nn.softmax(logits)
        weights, chosen = lax.top_k(probabilities, routing.top_k)
        if routing.normalise:
            weights = weights / weights.sum(axis=-1, keepdims=True)
        kept = jnp.broadcast_to(real[..., None], chosen.shape)
        if is_training := scope.is_mutable(ROUTER):
            if routing.capacity is not None:
                kept = kept & self._fits(scope.constrain(chosen, "batch", None, None), kept)
            found = _measured(logits, probabilities, chosen, kept, real)
            found["penalty"] = routing.balance * found["balance"] + routing.z * found["z"]
            for name, value in found.items():
                scope.write(ROUTER, name, value)
        into, back = ("experts", "embed", "mlp"), ("experts", "mlp", "embed")
        names = (
            {"gate": into, "up": into, "down": back} if self.gated else {"up": into, "down": back}
        )
        size = {"experts": routing.count, "embed": width, "mlp": self.hidden}
        kernels = [
            (scope / "experts" / name).param(
                "kernel",
                tuple(size[axis] for axis in axes),
                self.out_init if name == "down" else self.weight_init,
                axes,
            )
            for name, axes in names.items()
        ]
        if scope.trace.is_describing:
            return x
        room = routing.room(x.shape[1]) if is_training else x.shape[1]

        def local(x: jax.Array, ids: jax.Array, weights: jax.Array, *rest: Any) -> Any:
            *kernels, over = rest
            rows, ids = x.reshape(-1, width), ids.reshape(-1)
            if parts := over("experts"):
                y = exchanged(self._fed, rows, ids, kernels, routing.count, room * len(x), parts)
            else:
                y = self._fed(rows, ids, kernels)
            weights = weights.reshape(len(rows), -1, 1)
            y = (y.reshape(*weights.shape[:2], width) * weights).sum(axis=1).astype(x.dtype)
            # Each device may have some of the hidden units of its experts.
            y = lax.psum(y, over("mlp")) if over("mlp") else y
            return (y.reshape(x.shape),)

        arrays = x, jnp.where(kept, chosen, routing.count), weights.astype(jnp.float32), *kernels
        mapped = getattr(scope.trace.constrain, "mapped", None)
        if mapped is None:
            return local(*arrays, lambda _: ())[0]  # type: ignore[no-any-return]
        tokens, choices = ("batch", "length", "embed"), ("batch", "length", None)
        axes = (tokens, choices, choices, *names.values())
        return mapped(local, axes, (tokens,))(*arrays)[0]  # type: ignore[no-any-return]

    def _fits(self, chosen: jax.Array, kept: jax.Array) -> jax.Array:
        """Whether an expert has room for a choice: all first choices, in order, then the second."""
        batch, length, top_k = chosen.shape

        def in_turn(x: jax.Array) -> jax.Array:
            return x.swapaxes(1, 2).reshape(batch, -1)

        count = self.routing.count
        picks = jax.nn.one_hot(in_turn(jnp.where(kept, chosen, count)), count, dtype=jnp.int32)
        nth = ((jnp.cumsum(picks, axis=1) - picks) * picks).sum(axis=-1)
        return (nth < self.routing.room(length)).reshape(batch, top_k, length).swapaxes(1, 2)

    def _fed(self, x: jax.Array, ids: jax.Array, kernels: Sequence[jax.Array]) -> jax.Array:
        """[choices, embed]: MLP number ids[i] of row i // (choices / rows) of x."""
        blocks = Blocks.of(ids, kernels[0].shape[0])
        rows = blocks.gather(x, each=len(ids) // len(x))
        *grow, down = (kernel.astype(x.dtype) for kernel in kernels)
        first, *up = (dot_by_group(rows, kernel, blocks.groups) for kernel in grow)
        y = activation(self.activation)(first)
        y = y * up[0] if up else y
        return blocks.scatter(dot_by_group(y, down, blocks.groups))


def _measured(
    logits: jax.Array,
    probabilities: jax.Array,
    chosen: jax.Array,
    kept: jax.Array,
    real: jax.Array,
) -> dict[str, jax.Array]:
    """What `Experts` writes, for each row."""
    count = logits.shape[-1]
    weights = real.astype(jnp.float32)
    num = jnp.maximum(weights.sum(axis=1), 1.0)
    picks = jax.nn.one_hot(chosen, count).sum(axis=2) * weights[..., None]
    load = picks.sum(axis=1)
    mean = (probabilities * weights[..., None]).sum(axis=1) / num[:, None]
    squares = jnp.square(jax.nn.logsumexp(logits, axis=-1))
    is_kept = kept.astype(jnp.float32).sum(axis=(1, 2))
    return {
        "balance": count * (load / num[:, None] * mean).sum(axis=-1),
        "z": (squares * weights).sum(axis=1) / num,
        "load": load,
        "kept": is_kept,
        "dropped": load.sum(axis=-1) - is_kept,
    }
