"""Cross-entropy of a vocabulary without ever holding the logits of a whole batch.

Logits are made for a slice of the places at a time, with the gradient in the same pass: it is
linear in what comes from above, so the backward pass only scales it. Three matrix products instead
of four, and memory for one slice.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.dot import dot

# Logits held at a time, in numbers: 2^28 in bfloat16 are half a GiB.
_HELD = 1 << 28


def cross_entropy(
    hidden: jax.Array,
    weight: jax.Array,
    targets: jax.Array,
    mask: jax.Array,
    *,
    transposed: bool = False,
    num_slices: int | None = None,
) -> jax.Array:
    """Nats to say the targets, −Σ mask · log p, float32.

    hidden [batch, length, width]; weight [width, vocab], or [vocab, width] with `transposed` (tied
    embeddings); targets [batch, length] are ids; mask weighs places and is a constant to
    derivatives. Log-probabilities are taken in
    float32 of logits in hidden's type. The length is cut into `num_slices` (chosen by size unless
    given).
    """
    batch, length, _ = hidden.shape
    vocab = weight.shape[0] if transposed else weight.shape[1]
    if targets.shape != (batch, length) or mask.shape != (batch, length):
        raise ValueError(
            f"hidden {hidden.shape} wants targets and mask of shape {(batch, length)}, not "
            f"{targets.shape} and {mask.shape}"
        )
    if num_slices is None:
        num_slices = _num_slices(length, batch * length * vocab // _HELD + 1)
    elif length % num_slices:
        raise ValueError(f"a length of {length} cannot be cut into {num_slices} slices")
    mask = lax.stop_gradient(mask.astype(jnp.float32))
    return _sliced(hidden, weight, targets, mask, transposed, num_slices)


def _num_slices(length: int, wanted: int) -> int:
    """The smallest divisor of a length that is at least what is wanted."""
    return next(n for n in range(min(wanted, length), length + 1) if length % n == 0)


@partial(jax.custom_vjp, nondiff_argnums=(4, 5))
def _sliced(
    hidden: jax.Array,
    weight: jax.Array,
    targets: jax.Array,
    mask: jax.Array,
    transposed: bool,
    num: int,
) -> jax.Array:
    def one(total: jax.Array, part: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        h, t, m = part
        nats, _, _ = _nats(h, t, m, weight, transposed)
        return total + nats.sum(), None

    parts = tuple(_cut(x, num) for x in (hidden, targets, mask))
    return lax.scan(one, jnp.zeros((), jnp.float32), parts)[0]


def _nats(
    hidden: jax.Array, targets: jax.Array, mask: jax.Array, weight: jax.Array, transposed: bool
) -> tuple[jax.Array, jax.Array, jax.Array]:
    logits = dot(hidden, weight, transposed=transposed).astype(jnp.float32)
    norm = jax.nn.logsumexp(logits, axis=-1)
    chosen = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return mask * (norm - chosen), logits, norm


def _forward(
    hidden: jax.Array,
    weight: jax.Array,
    targets: jax.Array,
    mask: jax.Array,
    transposed: bool,
    num: int,
) -> tuple[jax.Array, tuple[Any, ...]]:
    width = hidden.shape[-1]
    vocab = weight.shape[0] if transposed else weight.shape[1]

    def one(
        held: tuple[jax.Array, jax.Array], part: tuple[jax.Array, ...]
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        total, grad_weight = held
        h, t, m = part
        nats, logits, norm = _nats(h, t, m, weight, transposed)
        excess = jnp.exp(logits - norm[..., None]) - (jnp.arange(vocab) == t[..., None])
        excess = (m[..., None] * excess).astype(h.dtype)
        grad_hidden = dot(excess, weight, transposed=not transposed)
        left, right = (excess, h) if transposed else (h, excess)
        grad_weight = grad_weight + lax.dot_general(
            left.reshape(-1, left.shape[-1]),
            right.reshape(-1, right.shape[-1]),
            (((0,), (0,)), ((), ())),
            preferred_element_type=jnp.float32,
        )
        return (total + nats.sum(), grad_weight), grad_hidden

    shape = (vocab, width) if transposed else (width, vocab)
    start = (jnp.zeros((), jnp.float32), jnp.zeros(shape, jnp.float32))
    parts = tuple(_cut(x, num) for x in (hidden, targets, mask))
    (total, grad_weight), grad_hidden = lax.scan(one, start, parts)
    return total, (_joined(grad_hidden), grad_weight.astype(weight.dtype))


def _backward(
    transposed: bool, num: int, kept: tuple[Any, ...], above: jax.Array
) -> tuple[Any, ...]:
    del transposed, num
    grad_hidden, grad_weight = kept

    def scaled(x: jax.Array) -> jax.Array:
        return (above * x.astype(jnp.float32)).astype(x.dtype)

    return scaled(grad_hidden), scaled(grad_weight), None, None


_sliced.defvjp(_forward, _backward)


def _cut(x: jax.Array, num: int) -> jax.Array:
    """[batch, length, …] to [num, batch, length / num, …]: rows stay where they are."""
    batch, length = x.shape[:2]
    return jnp.moveaxis(x.reshape(batch, num, length // num, *x.shape[2:]), 1, 0)


def _joined(x: jax.Array) -> jax.Array:
    num, batch, length = x.shape[:3]
    return jnp.moveaxis(x, 0, 1).reshape(batch, num * length, *x.shape[3:])
