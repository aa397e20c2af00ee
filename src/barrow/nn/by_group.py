"""Matrix products of rows that belong to groups, each group with its own weight.

`jax.lax.ragged_dot` multiplies every row with every weight on CPUs and GPUs, and masks the rest.
Here rows are sorted into blocks of one group each: what is computed grows with the rows alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax

# Weights are copied for some blocks at a time, up to so many bytes.
_HELD = 1 << 26
_SMALLEST, _LARGEST = 8, 512


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Blocks:
    """Rows in blocks of one group: a static number of blocks, the last of each group not full.

    `rows` [blocks, size] are the numbers of rows (past the end: no row), `groups` [blocks] those of
    the groups; `places` [rows] is where a row is, past the end where it has no group.
    """

    rows: jax.Array
    groups: jax.Array
    places: jax.Array

    @classmethod
    def of(cls, groups: jax.Array, num_groups: int) -> Blocks:
        """Of the groups of rows [rows]; `num_groups` is no group."""
        (num,) = groups.shape
        # About four blocks for a group of the mean size: a quarter of the rows more at most.
        size = 1 << max(0, math.floor(math.log2(max(1, num / num_groups / 4))))
        size = min(max(size, _SMALLEST), _LARGEST)
        num_blocks = min(num, num // size + num_groups)
        order = jnp.argsort(groups, stable=True)
        counts = jnp.bincount(groups, length=num_groups + 1).at[-1].set(0)
        blocks = -(-counts // size)
        ends = jnp.cumsum(blocks)
        of = groups[order]
        nth = jnp.arange(num) - (jnp.cumsum(counts) - counts)[of]
        place = jnp.where(of < num_groups, (ends - blocks)[of] * size + nth, num_blocks * size)
        places = jnp.zeros(num, place.dtype).at[order].set(place)
        rows = jnp.full(num_blocks * size, num).at[places].set(jnp.arange(num), mode="drop")
        found = jnp.searchsorted(ends[:-1], jnp.arange(num_blocks), side="right")
        return cls(rows.reshape(-1, size), jnp.minimum(found, num_groups - 1), places)

    def gather(self, x: jax.Array, *, each: int = 1) -> jax.Array:
        """Rows x [rows / each, width] as blocks [blocks, size, width]; 0 where there is no row."""
        return x.at[self.rows // each].get(mode="fill", fill_value=0)

    def scatter(self, y: jax.Array) -> jax.Array:
        """Blocks as rows [rows, width]; 0 where a row has no group."""
        return y.reshape(-1, y.shape[-1]).at[self.places].get(mode="fill", fill_value=0)


@jax.custom_vjp
def dot_by_group(x: jax.Array, weight: jax.Array, groups: jax.Array) -> jax.Array:
    """Blocks x [blocks, size, i] times the weight [groups, i, o] of each block's group."""
    return _each(x, weight, groups)


def _each(
    x: jax.Array, weight: jax.Array, groups: jax.Array, *, transposed: bool = False
) -> jax.Array:
    product = (((1,), (1 if transposed else 0,)), ((), ()))

    def one(part: tuple[jax.Array, jax.Array]) -> jax.Array:
        return lax.dot_general(part[0], weight[part[1]], product)

    found: jax.Array = lax.map(one, (x, groups), batch_size=_at_once(weight, len(groups)))
    return found


def _forward(
    x: jax.Array, weight: jax.Array, groups: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
    return _each(x, weight, groups), (x, weight, groups)


def _backward(
    kept: tuple[jax.Array, jax.Array, jax.Array], above: jax.Array
) -> tuple[jax.Array, jax.Array, None]:
    x, weight, groups = kept

    def add(total: jax.Array, part: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        rows, grad, group = part
        product = (((0,), (0,)), ((), ()))
        more = lax.dot_general(rows, grad, product, preferred_element_type=jnp.float32)
        return total.at[group].add(more), None

    of_weight, _ = lax.scan(add, jnp.zeros(weight.shape, jnp.float32), (x, above, groups))
    of_x = _each(above, weight, groups, transposed=True)
    return of_x, of_weight.astype(weight.dtype), None


dot_by_group.defvjp(_forward, _backward)


def _at_once(weight: jax.Array, num_blocks: int) -> int:
    """Blocks whose weights are copied and multiplied together."""
    return max(1, min(num_blocks, _HELD // (weight[0].size * weight.dtype.itemsize)))
