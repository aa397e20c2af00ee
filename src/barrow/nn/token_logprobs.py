"""Log-probabilities and entropies of tokens without the logits of a whole batch."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.cross_entropy import HELD, divisor_from, over_slices, refuse_other_shapes


def token_logprobs(
    hidden: jax.Array,
    weight: jax.Array,
    targets: jax.Array,
    *,
    transposed: bool = False,
    held: int = HELD,
) -> tuple[jax.Array, jax.Array]:
    """Log p of each target, and the entropy of its distribution, float32 [batch, length].

    Arguments are those of `cross_entropy`; a target outside the vocabulary is NaN. Logits are
    float32, of one slice of the length at a time (about `held`), and computed again for the
    gradient: no array [batch, length, vocab] is kept. The entropy is a measurement: its gradient
    is 0.
    """
    vocab = refuse_other_shapes(hidden, weight, targets, targets, transposed)
    batch, length, _ = hidden.shape
    num = divisor_from(length, batch * length * vocab // held + 1)
    known = (targets >= 0) & (targets < vocab)
    matrix = weight.astype(hidden.dtype)
    matrix = matrix if transposed else matrix.T

    @jax.checkpoint
    def of_rows(h: jax.Array, t: jax.Array, matrix: jax.Array) -> jax.Array:
        product = (((1,), (1,)), ((), ()))
        logits = lax.dot_general(h, matrix, product, preferred_element_type=jnp.float32)
        norm = jax.nn.logsumexp(logits, axis=-1)
        chosen = jnp.take_along_axis(logits, t[:, None], axis=-1)[:, 0]
        fixed, total = lax.stop_gradient((logits, norm))
        entropy = total - jnp.sum(jnp.exp(fixed - total[:, None]) * fixed, axis=-1)
        return jnp.stack([chosen - norm, entropy], axis=-1)

    def one(start: None, part: tuple[jax.Array, ...]) -> tuple[None, Any]:
        return start, of_rows(*part, matrix)

    _, found = over_slices(one, None, (hidden, jnp.where(known, targets, 0)), num)
    return jnp.where(known, found[..., 0], jnp.nan), found[..., 1]
