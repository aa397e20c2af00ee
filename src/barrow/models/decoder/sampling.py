"""How the next token is chosen from its logits."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax


@dataclass(frozen=True)
class Sampling:
    """Draw from softmax(logits / temperature); a temperature of 0 takes the largest (greedy).

    Of the probabilities only the `top_k` largest stay, and of these the fewest whose sum reaches
    `top_p`; None restricts nothing.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature must be ≥ 0, got {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be ≥ 1, got {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be > 0 and ≤ 1, got {self.top_p}")
        if self.temperature == 0 and (self.top_k is not None or self.top_p is not None):
            raise ValueError("top_k and top_p need a temperature above 0")


GREEDY = Sampling()


@jax.tree_util.register_static
@dataclass(frozen=True)
class Kind:
    """The part of a sampling that is compiled in."""

    greedy: bool
    top_k: int | None


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Chooser:
    """A `Sampling` as a compiled program takes it: numbers that may change, and its shape.

    Another temperature or top_p needs no recompilation.
    """

    temperature: jax.Array
    top_p: jax.Array | None
    kind: Kind


def chooser(sampling: Sampling) -> Chooser:
    """The form for a compiled program."""
    top_p = None if sampling.top_p in (None, 1.0) else jnp.float32(sampling.top_p)
    kind = Kind(sampling.temperature == 0, sampling.top_k)
    return Chooser(jnp.float32(sampling.temperature or 1.0), top_p, kind)


def choose(how: Chooser, logits: jax.Array, keys: jax.Array) -> jax.Array:
    """A token [batch] for each row of logits [batch, vocab], each drawn with its own key."""
    logits = logits.astype(jnp.float32)
    if how.kind.greedy:
        return jnp.argmax(logits, axis=-1).astype(jnp.int32)
    values, ids = candidates(how, logits)
    place = jax.vmap(jax.random.categorical)(keys, values)
    if ids is None:
        return place.astype(jnp.int32)
    return jnp.take_along_axis(ids, place[:, None], axis=-1)[:, 0].astype(jnp.int32)


def candidates(how: Chooser, logits: jax.Array) -> tuple[jax.Array, jax.Array | None]:
    """Logits that may be drawn from, with −∞ for those left out, and their ids (None: all)."""
    scaled = logits / how.temperature
    vocab = logits.shape[-1]
    num = vocab if how.kind.top_k is None else min(how.kind.top_k, vocab)
    if num == vocab and how.top_p is None:
        return scaled, None
    values, ids = lax.top_k(scaled, num)
    if how.top_p is not None:
        shares = jax.nn.softmax(values, axis=-1)
        before = jnp.cumsum(shares, axis=-1) - shares
        values = jnp.where(before < how.top_p, values, -jnp.inf)
    return values, ids
