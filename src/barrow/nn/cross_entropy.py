"""Cross-entropy of a vocabulary without ever holding the logits of a whole batch.

Logits are computed for one slice of the places at a time, with the gradient in the same pass: it is
linear in the incoming gradient, so the backward pass only scales it. This takes three matrix
products instead of four, and memory for one slice.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from barrow.nn.hopper import with_twin
from barrow.nn.softmax_rows import has_kernel, softmax_kernel, softmax_rows
from barrow.nn.trace import Constrain, divides

# Logits held at a time: 2^28 in bfloat16 are half a GiB.
HELD = 1 << 28
# Tensor cores need columns in multiples: 50,257 of them take a third more time than 50,304.
_COLUMNS = 128


def cross_entropy(
    hidden: jax.Array,
    weight: jax.Array,
    targets: jax.Array,
    mask: jax.Array,
    *,
    bias: jax.Array | None = None,
    transposed: bool = False,
    num_slices: int | None = None,
    columns: int = _COLUMNS,
    constrain: Constrain | None = None,
) -> jax.Array:
    """Nats of the targets, −Σ mask · log p, float32.

    hidden [batch, length, width]; weight [width, vocab], or [vocab, width] with `transposed` (tied
    embeddings); `bias` [vocab] is added to the logits; targets [batch, length] are ids, and one
    that is not in the vocabulary where the mask is not 0 makes the sum NaN; mask weighs places and
    is a constant to derivatives. Log-probabilities are taken in float32 of logits in hidden's type.

    The length is cut into `num_slices` (chosen by size unless given). The vocabulary is filled up
    to a multiple of `columns` with ids of probability 0, which change nothing but speed. Where
    `constrain` divides the vocabulary or the length, each device computes the logits of its part.
    """
    vocab = refuse_other_shapes(hidden, weight, targets, mask, transposed)
    batch, length, _ = hidden.shape
    if num_slices is None:
        num_slices = divisor_from(length, batch * length * vocab // HELD + 1)
    elif num_slices < 1 or length % num_slices:
        raise ValueError(f"a length of {length} cannot be cut into {num_slices} slices")
    mask = lax.stop_gradient(mask.astype(jnp.float32))
    # An id outside the vocabulary cannot raise under jit; NaN is noticed, another row is not.
    known = (targets >= 0) & (targets < vocab)
    mask = jnp.where(known | (mask == 0), mask, jnp.nan)
    matrix = weight.astype(hidden.dtype)
    matrix = matrix if transposed else matrix.T
    if bias is not None and bias.shape != (vocab,):
        raise ValueError(f"bias must have shape ({vocab},), got {bias.shape}")
    targets = jnp.where(known, targets, 0)
    if constrain is not None and (divides(constrain, "vocab") or divides(constrain, "length")):
        return _divided(hidden, matrix, bias, targets, mask, constrain)
    matrix = jnp.pad(matrix, ((0, -vocab % columns), (0, 0)))
    if bias is not None:
        bias = jnp.pad(bias.astype(jnp.float32), (0, -vocab % columns))
    return _sliced(hidden, matrix, bias, targets, mask, vocab, num_slices)


def token_nats(
    hidden: jax.Array,
    weight: jax.Array,
    targets: jax.Array,
    *,
    transposed: bool = False,
    held: int = HELD,
    columns: int = _COLUMNS,
) -> jax.Array:
    """Nats of each target, −log p, float32 [batch, length]; arguments as in `cross_entropy`.

    Logits are summed and kept in float32 whatever hidden's type, since this is a measurement. A
    target outside the vocabulary is NaN. About `held` logits exist at a time.
    """
    vocab = refuse_other_shapes(hidden, weight, targets, targets, transposed)
    batch, length, _ = hidden.shape
    num_slices = divisor_from(length, batch * length * vocab // held + 1)
    known = (targets >= 0) & (targets < vocab)
    matrix = weight.astype(hidden.dtype)
    matrix = matrix if transposed else matrix.T
    matrix = jnp.pad(matrix, ((0, -vocab % columns), (0, 0)))

    def one(start: None, part: tuple[jax.Array, ...]) -> tuple[None, jax.Array]:
        h, t = part
        product = (((1,), (1,)), ((), ()))
        logits = lax.dot_general(h, matrix, product, preferred_element_type=jnp.float32)
        if vocab != matrix.shape[0]:
            logits = jnp.where(jnp.arange(matrix.shape[0]) < vocab, logits, -jnp.inf)
        chosen = jnp.take_along_axis(logits, t[:, None], axis=-1)[:, 0]
        return start, jax.nn.logsumexp(logits, axis=-1) - chosen

    _, nats = over_slices(one, None, (hidden, jnp.where(known, targets, 0)), num_slices)
    return jnp.where(known, nats[..., 0], jnp.nan)


def refuse_other_shapes(
    hidden: jax.Array, weight: jax.Array, targets: jax.Array, mask: jax.Array, transposed: bool
) -> int:
    """The size of the vocabulary, if all shapes agree."""
    if hidden.ndim != 3 or weight.ndim != 2:
        raise ValueError(
            "cross-entropy needs hidden [batch, length, width] and a weight of two "
            f"dimensions, got {hidden.shape} and {weight.shape}"
        )
    *places, width = hidden.shape
    vocab, wide = weight.shape if transposed else weight.shape[::-1]
    if wide != width:
        raise ValueError(
            f"hidden {hidden.shape} needs a weight "
            f"[{'vocab, width' if transposed else 'width, vocab'}] with width {width}, got "
            f"{weight.shape}"
        )
    if targets.shape != tuple(places) or mask.shape != tuple(places):
        raise ValueError(
            f"hidden {hidden.shape} needs targets and mask of shape {tuple(places)}, got "
            f"{targets.shape} and {mask.shape}"
        )
    if not jnp.issubdtype(targets.dtype, jnp.integer):
        raise ValueError(f"targets must be integer ids, got {targets.dtype}")
    return vocab


def divisor_from(length: int, wanted: int) -> int:
    """The smallest divisor of a length that is at least the requested number."""
    return next(n for n in range(min(wanted, length), length + 1) if length % n == 0)


@partial(jax.custom_vjp, nondiff_argnums=(5, 6))
def _sliced(
    hidden: jax.Array,
    matrix: jax.Array,
    bias: jax.Array | None,
    targets: jax.Array,
    mask: jax.Array,
    vocab: int,
    num: int,
) -> jax.Array:
    def one(total: jax.Array, part: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        h, t, m = part
        nats, _, _ = _nats(h, t, m, matrix, bias, vocab)
        return total + nats, None

    total: jax.Array
    total, _ = over_slices(one, jnp.zeros((), jnp.float32), (hidden, targets, mask), num)
    return total


def _nats(
    hidden: jax.Array,
    targets: jax.Array,
    mask: jax.Array,
    matrix: jax.Array,
    bias: jax.Array | None,
    vocab: int,
    over: tuple[str, ...] = (),
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Of one slice of rows: the sum, and of each row the logits and their logsumexp.

    Where the ids are divided `over` devices, `targets` count from the first of this device; others
    are outside of its part.
    """
    logits = lax.dot_general(hidden, matrix, (((1,), (1,)), ((), ()))).astype(jnp.float32)
    if bias is not None:
        logits = logits + bias
    if vocab != matrix.shape[0]:
        logits = jnp.where(jnp.arange(matrix.shape[0]) < vocab, logits, -jnp.inf)
    norm = jax.nn.logsumexp(logits, axis=-1)
    if not over:
        chosen = jnp.take_along_axis(logits, targets[:, None], axis=-1)[:, 0]
        return jnp.sum(mask * (norm - chosen)), logits, norm
    highest = lax.pmax(norm, over)
    norm = highest + jnp.log(lax.psum(jnp.exp(norm - highest), over))
    here = (targets >= 0) & (targets < matrix.shape[0])
    at = jnp.where(here, targets, 0)
    chosen = jnp.where(here, jnp.take_along_axis(logits, at[:, None], axis=-1)[:, 0], 0)
    return jnp.sum(mask * (norm - lax.psum(chosen, over))), logits, norm


def _nats_and_excess(
    hidden: jax.Array, targets: jax.Array, mask: jax.Array, matrix: jax.Array, vocab: int
) -> tuple[jax.Array, jax.Array]:
    """Of one slice of rows, by the kernel: the sum, and its gradient of the logits."""
    logits = lax.dot_general(hidden, matrix, (((1,), (1,)), ((), ())))
    softmax = with_twin(partial(softmax_kernel, num=vocab), partial(softmax_rows, num=vocab))
    chosen = jnp.take_along_axis(logits, targets[:, None], axis=-1)[:, 0].astype(jnp.float32)
    # The kernel writes over the logits: what else is read of them is read before.
    logits, chosen = lax.optimization_barrier((logits, chosen))
    excess, norm = softmax(logits, mask)
    of_chosen = mask * (jnp.exp(chosen - norm) - 1)
    at = jnp.arange(len(targets)), targets
    excess = excess.at[at].set(of_chosen.astype(excess.dtype), unique_indices=True)
    return jnp.sum(mask * (norm - chosen)), excess


def _forward(
    hidden: jax.Array,
    matrix: jax.Array,
    bias: jax.Array | None,
    targets: jax.Array,
    mask: jax.Array,
    vocab: int,
    num: int,
    over: tuple[str, ...] = (),
) -> tuple[jax.Array, tuple[Any, ...]]:
    padded, width = matrix.shape

    def one(
        held: tuple[jax.Array, jax.Array, jax.Array | None], part: tuple[jax.Array, ...]
    ) -> tuple[tuple[jax.Array, jax.Array, jax.Array | None], jax.Array]:
        total, grad_matrix, grad_bias = held
        h, t, m = part
        if bias is None and not over and has_kernel((len(h), padded), h.dtype):
            nats, excess = _nats_and_excess(h, t, m, matrix, vocab)
        else:
            nats, logits, norm = _nats(h, t, m, matrix, bias, vocab, over)
            excess = jnp.exp(logits - norm[:, None]) - (jnp.arange(padded) == t[:, None])
            excess = m[:, None] * excess
            if grad_bias is not None:
                grad_bias = grad_bias + excess.sum(axis=0)
            excess = excess.astype(h.dtype)
        grad_hidden = lax.dot_general(excess, matrix, (((1,), (0,)), ((), ())))
        # The narrow one first: with the wide one transposed, CPUs take twice as long.
        grad_matrix += lax.dot_general(
            h, excess, (((0,), (0,)), ((), ())), preferred_element_type=jnp.float32
        )
        return (total + nats, grad_matrix, grad_bias), grad_hidden

    start = (
        jnp.zeros((), jnp.float32),
        jnp.zeros((width, padded), jnp.float32),
        None if bias is None else jnp.zeros((padded,), jnp.float32),
    )
    sums, grad_hidden = over_slices(one, start, (hidden, targets, mask), num)
    total, grad_matrix, grad_bias = sums
    # A sum over all tokens may be past float16's largest number; the mean that is wanted is not.
    kept = jnp.float32 if matrix.dtype == jnp.float16 else matrix.dtype
    # After the barrier, or XLA would reorder the products to avoid the transposition.
    grad_matrix = lax.optimization_barrier(grad_matrix)
    return total, (grad_hidden, grad_matrix.T.astype(kept), grad_bias)


def _backward(
    vocab: int, num: int, kept: tuple[jax.Array, jax.Array, jax.Array | None], above: jax.Array
) -> tuple[Any, ...]:
    del vocab, num
    grad_hidden, grad_matrix, grad_bias = kept
    dtype = grad_hidden.dtype
    scaled = (above * x.astype(jnp.float32) for x in (grad_hidden, grad_matrix))
    of_bias = None if grad_bias is None else above * grad_bias
    return *(x.astype(dtype) for x in scaled), of_bias, None, None


_sliced.defvjp(_forward, _backward)


@partial(jax.custom_vjp, nondiff_argnums=(5,))
def _divided(
    hidden: jax.Array,
    matrix: jax.Array,
    bias: jax.Array | None,
    targets: jax.Array,
    mask: jax.Array,
    constrain: Constrain,
) -> jax.Array:
    total, _ = _divided_forward(hidden, matrix, bias, targets, mask, constrain)
    return total


def _divided_forward(
    hidden: jax.Array,
    matrix: jax.Array,
    bias: jax.Array | None,
    targets: jax.Array,
    mask: jax.Array,
    constrain: Constrain,
) -> tuple[jax.Array, tuple[Any, ...]]:
    """As `_forward`, by the devices that have a part of the places or of the ids.

    No logit leaves its device: only the highest and the sum of each place do.
    """
    biases = () if bias is None else (bias.astype(jnp.float32),)

    def local(h: jax.Array, w: jax.Array, t: jax.Array, m: jax.Array, *rest: Any) -> Any:
        (b, over) = rest if len(rest) == 2 else (None, *rest)
        ids, places = over("vocab"), over("batch") + over("length")
        t = t - lax.axis_index(ids) * w.shape[0] if ids else t
        num = divisor_from(h.shape[1], math.prod(t.shape) * w.shape[0] // HELD + 1)
        total, grads = _forward(h, w, b, t, m, w.shape[0], num, ids)
        of_hidden, of_matrix, of_bias = grads
        of_hidden = lax.psum(of_hidden, ids) if ids else of_hidden
        sums = (total, of_matrix) if b is None else (total, of_matrix, of_bias)
        total, of_matrix, *of_bias = lax.psum(sums, places) if places else sums
        return total, of_hidden, of_matrix, *of_bias

    tokens, names = ("batch", "length"), ("vocab", "embed")
    axes = ((*tokens, "embed"), names, tokens, tokens, *(("vocab",) for _ in biases))
    outs = ((), (*tokens, "embed"), names, *(("vocab",) for _ in biases))
    found = constrain.mapped(local, axes, outs)(hidden, matrix, targets, mask, *biases)
    total, of_hidden, of_matrix, *of_bias = found
    return total, (of_hidden, of_matrix, of_bias[0] if of_bias else None)


def _divided_backward(constrain: Constrain, kept: Any, above: jax.Array) -> tuple[Any, ...]:
    del constrain
    return _backward(0, 0, kept, above)


_divided.defvjp(_divided_forward, _divided_backward)


def over_slices(one: Any, start: Any, arrays: tuple[jax.Array, ...], num: int) -> tuple[Any, Any]:
    """Scan over slices of the length, each as rows; their outputs are concatenated."""
    batch, length = arrays[0].shape[:2]

    def rows(x: jax.Array) -> jax.Array:
        return x.reshape(batch * length // num, *x.shape[2:])

    if num == 1:
        after, out = one(start, tuple(rows(x) for x in arrays))
        return after, None if out is None else out.reshape(batch, length, -1)

    def cut(x: jax.Array) -> jax.Array:
        # Rows of the batch stay on their devices.
        return jnp.moveaxis(x.reshape(batch, num, length // num, *x.shape[2:]), 1, 0)

    def joined(x: jax.Array) -> jax.Array:
        return jnp.moveaxis(x.reshape(num, batch, length // num, -1), 0, 1).reshape(
            batch, length, -1
        )

    def of_rows(held: Any, part: tuple[jax.Array, ...]) -> tuple[Any, Any]:
        return one(held, tuple(rows(x) for x in part))  # type: ignore[no-any-return]

    after, out = lax.scan(of_rows, start, tuple(cut(x) for x in arrays))
    return after, None if out is None else joined(out)
