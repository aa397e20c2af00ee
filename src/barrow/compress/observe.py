"""What goes into each weight of a model: moments of its inputs over rows of tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.interrupt import check_interrupt
from barrow.models.decoder.model import Decoder
from barrow.models.roberta.model import Roberta
from barrow.nn.dot import dot
from barrow.nn.weights.kernels import weights_in, with_weights

Rows = npt.NDArray[np.int32]
# Bytes of sums of products that are held at a time.
_HELD = 1 << 30
_ROWS = 4
# An encoder's head sees the places that are masked, about one in so many.
_EVERY = 7


@dataclass(frozen=True)
class Moments:
    """Of the inputs x of a weight, [inputs]: the mean of x², the largest |x|; and the sum of x·xᵀ
    [inputs, inputs] where it was requested.
    """

    squares: npt.NDArray[np.float32]
    largest: npt.NDArray[np.float32]
    products: npt.NDArray[np.float32] | None = None

    def divided(self, factors: npt.NDArray[np.float32]) -> Moments:
        """Of x / factors."""
        both = None if self.products is None else self.products / np.outer(factors, factors)
        return Moments(self.squares / factors**2, self.largest / factors, both)


def observed(
    model: Any, params: Mapping[str, Any], rows: Rows, *, products: bool
) -> Iterator[dict[str, Moments]]:
    """Moments of the inputs of kernels by path, some kernels at a time; layers are a tuple.

    The model runs once over `rows` [rows, length] for each part, so that the products, which are
    large, fit into memory.
    """
    for paths in _parts(params, products=products):
        run = jax.jit(partial(_sums, model, paths, products))
        found: dict[str, Any] = {}
        for start in range(0, len(rows), _ROWS):
            check_interrupt()
            # Filled up with the first rows: another shape would compile again.
            batch = np.resize(rows[start : start + _ROWS], (_ROWS, rows.shape[1]))
            sums = jax.tree.map(lambda x: np.asarray(x), run(params, jnp.asarray(batch)))
            found = sums if not found else {p: _added(found[p], sums[p]) for p in sums}
        yield {p: Moments(s / n, m, xx) for p, (n, s, m, xx) in found.items()}


def kernels(params: Mapping[str, Any]) -> dict[str, int]:
    """Kernels by path, and the number of inputs of each; not tables of embeddings."""
    found = weights_in(params).items()
    return {path: math.prod(leaf.shape[:num]) for path, (leaf, num) in found if num is not None}


def _parts(params: Mapping[str, Any], *, products: bool) -> Iterator[Collection[str]]:
    """Paths that are looked at together."""
    part: list[str] = []
    held = 0
    for path, num in kernels(params).items():
        size = 4 * num * num if products else 0
        if part and held + size > _HELD:
            yield part
            part, held = [], 0
        part.append(path)
        held += size
    yield part


class _Observed:
    """A weight that notes the moments of what it is multiplied with."""

    def __init__(self, weight: jax.Array, note: Callable[[jax.Array], None]) -> None:
        self._weight, self._note = weight, note
        self.shape, self.dtype = weight.shape, weight.dtype

    def contract(self, x: jax.Array, num: int, *, transposed: bool) -> jax.Array:
        self._note(x.reshape(-1, math.prod(x.shape[x.ndim - num :])).astype(jnp.float32))
        return dot(x, self._weight, num=num, transposed=transposed)


def _sums(
    model: Any, paths: Collection[str], products: bool, params: Mapping[str, Any], rows: jax.Array
) -> dict[str, tuple[Any, ...]]:
    seen: dict[str, tuple[Any, ...]] = {}

    def note(path: str, x: jax.Array) -> None:
        both = x.T @ x if products else None
        seen[path] = (len(x), jnp.square(x).sum(axis=0), jnp.abs(x).max(axis=0), both)

    def make(path: str, leaf: Any, num_in: int | None) -> Any:
        return leaf if num_in is None or path not in paths else _Observed(leaf, partial(note, path))

    _run(model, with_weights(params, make), rows)
    return seen


def _run(model: Any, params: Mapping[str, Any], rows: jax.Array) -> None:
    """Compute all that the model computes of rows without padding."""
    if isinstance(model, Decoder) or not getattr(model.config, "mlm_head", False):
        model.apply(params, rows)
        return
    assert isinstance(model, Roberta)
    places = jnp.arange(0, rows.shape[1], _EVERY)
    at = jnp.broadcast_to(places, (len(rows), len(places)))
    model.apply(params, rows, at, method=model.masked_logits)


def _added(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    n, squares, largest, products = one
    more, squares_too, largest_too, products_too = other
    both = None if products is None else products + products_too
    return n + more, squares + squares_too, np.maximum(largest, largest_too), both
