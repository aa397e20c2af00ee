"""Tensors of GGUF's quantized types as leaves, without expanding them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from barrow.models.huggingface.names import Line
from barrow.nn.weights.grouped import Grouped
from barrow.nn.weights.kernels import num_in_of
from barrow.weights.tensors import LazyTensor

# Numbers of a block, and bits of each; a block is a float16 scale and then its numbers.
_BLOCK = 32
_BITS = {"Q8_0": 8, "Q4_0": 4}


def packed_leaf(line: Line, entry: LazyTensor, dtype: str) -> Grouped | None:
    """The leaf of a kernel that is stored as rows of outputs in blocks; None for other tensors."""
    num_in = num_in_of(line.paths[0]) if len(line.paths) == 1 else 0
    if entry.packed is None or entry.packed.kind not in _BITS or not num_in:
        return None
    if line.order != _outputs_first(len(line.split), num_in):
        return None
    bits = _BITS[entry.packed.kind]
    rows = np.ascontiguousarray(entry.packed.rows())
    size = 2 + _BLOCK * bits // 8
    blocks = rows.reshape(len(rows), -1, size)
    scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16)[..., 0].T
    values = blocks[..., 2:].transpose(1, 2, 0)
    values = values.view(np.int8) if bits == 8 else values
    shape = line.our_shape
    return Grouped(
        jnp.asarray(np.ascontiguousarray(values)),
        jnp.asarray(scales),
        shape[:num_in],
        shape[num_in:],
        bits,
        dtype,
    )


def _outputs_first(num: int, num_in: int) -> tuple[Any, ...]:
    """The order of a line whose tensor has its outputs first, and ours its inputs."""
    return (*range(num - num_in, num), *range(num - num_in))
