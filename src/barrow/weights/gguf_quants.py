"""Block formats of GGUF, decoded to float32.

A quantised row is cut into blocks of 32 or 256 elements. A block holds small integers and the
scales to multiply them with; the K formats have a scale, and some a minimum, for every 16 or 32
elements, themselves small integers times one half-precision number a block. Each decoder takes
blocks as bytes [num_blocks, block_bytes] and gives float32 [num_blocks, block_elements].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

# Of their own width, so that bytes stay bytes.
_ONE, _THREE, _FOUR = np.uint8(1), np.uint8(3), np.uint8(4)

_CHUNK_ELEMENTS = 1 << 20  # decoded at a time, so that temporaries stay small


@dataclass(frozen=True)
class BlockFormat:
    """Elements and bytes of a block, and its decoder."""

    elements: int
    num_bytes: int
    decode: Callable[[Bytes], Floats]


def dequantise(raw: Bytes, block: BlockFormat) -> Floats:
    """All elements of a tensor's bytes, one after another."""
    blocks = raw.reshape(-1, block.num_bytes)
    out = np.empty((len(blocks), block.elements), np.float32)
    step = max(1, _CHUNK_ELEMENTS // block.elements)
    # Hostile scales may be infinite or NaN; that is the file's business, not a warning of ours.
    with np.errstate(all="ignore"):
        for start in range(0, len(blocks), step):
            out[start : start + step] = block.decode(blocks[start : start + step])
    return out.reshape(-1)


def _half(part: Bytes) -> Floats:
    """Half-precision number of each block, as a column."""
    return np.ascontiguousarray(part).view("<f2").astype(np.float32)


def _nibbles(part: Bytes) -> Bytes:
    """Low halves of all bytes, then high halves."""
    return np.concatenate([part & 15, part >> 4], axis=-1)


def _fifth_bits(part: Bytes) -> Bytes:
    """32 bits of each block, worth 16 each."""
    return np.unpackbits(part, axis=-1, bitorder="little") << _FOUR


def _q4_0(b: Bytes) -> Floats:
    return _half(b[:, :2]) * (_nibbles(b[:, 2:]).astype(np.float32) - 8)


def _q4_1(b: Bytes) -> Floats:
    return _half(b[:, :2]) * _nibbles(b[:, 4:]).astype(np.float32) + _half(b[:, 2:4])


def _q5_0(b: Bytes) -> Floats:
    q = _nibbles(b[:, 6:]) | _fifth_bits(b[:, 2:6])
    return _half(b[:, :2]) * (q.astype(np.float32) - 16)


def _q5_1(b: Bytes) -> Floats:
    q = _nibbles(b[:, 8:]) | _fifth_bits(b[:, 4:8])
    return _half(b[:, :2]) * q.astype(np.float32) + _half(b[:, 2:4])


def _q8_0(b: Bytes) -> Floats:
    return _half(b[:, :2]) * b[:, 2:].view(np.int8).astype(np.float32)


def _twos(part: Bytes) -> Bytes:
    """2-bit numbers of 64 bytes [n, 64], as [n, 16 groups, 16].

    Each half of 32 bytes holds four rows of 32 elements, the first in the lowest two bits.
    """
    halves = part.reshape(-1, 2, 1, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)
    return ((halves >> shifts) & _THREE).reshape(-1, 16, 16)


def _q2_k(b: Bytes) -> Floats:
    scales = b[:, :16]
    q = _twos(b[:, 16:80])
    scale = _half(b[:, 80:82]) * (scales & 15).astype(np.float32)
    minimum = _half(b[:, 82:84]) * (scales >> 4).astype(np.float32)
    return (scale[:, :, None] * q.astype(np.float32) - minimum[:, :, None]).reshape(-1, 256)


def _q3_k(b: Bytes) -> Floats:
    # The bit that is worth 4 is in a mask of its own; where it is clear, 4 is taken off.
    masks = b[:, :32].reshape(-1, 1, 32)
    bits = (masks >> np.arange(8, dtype=np.uint8).reshape(1, 8, 1)) & 1
    high = bits.reshape(-1, 16, 16).astype(np.int8) * 4 - 4
    q = _twos(b[:, 32:96]).astype(np.int8) + high
    packed = b[:, 96:108]
    low = _nibbles(packed[:, :8])
    twos = (packed[:, None, 8:] >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 4, 1)) & 3
    scales = (low | (twos.reshape(-1, 16) << 4)).astype(np.int8) - 32
    scale = _half(b[:, 108:110]) * scales.astype(np.float32)
    return (scale[:, :, None] * q.astype(np.float32)).reshape(-1, 256)


def _six_bit_scales(part: Bytes) -> tuple[Bytes, Bytes]:
    """8 scales and 8 minima of 6 bits each, out of 12 bytes."""
    first, second, third = part[:, :4], part[:, 4:8], part[:, 8:]
    scales = np.concatenate([first & 63, (third & 15) | ((first >> 6) << 4)], axis=-1)
    minima = np.concatenate([second & 63, (third >> 4) | ((second >> 6) << 4)], axis=-1)
    return scales, minima


def _scaled(b: Bytes, q: Bytes) -> Floats:
    """8 rows of 32, each with its scale and minimum; the layout that Q4_K and Q5_K share."""
    scales, minima = _six_bit_scales(b[:, 4:16])
    scale = _half(b[:, :2]) * scales.astype(np.float32)
    minimum = _half(b[:, 2:4]) * minima.astype(np.float32)
    return (scale[:, :, None] * q.astype(np.float32) - minimum[:, :, None]).reshape(-1, 256)


def _nibble_rows(part: Bytes) -> Bytes:
    """128 bytes as 8 rows of 32: low halves of 32 bytes, then their high halves."""
    return _nibbles(part.reshape(-1, 4, 32)).reshape(-1, 8, 32)


def _q4_k(b: Bytes) -> Floats:
    return _scaled(b, _nibble_rows(b[:, 16:]))


def _q5_k(b: Bytes) -> Floats:
    bits = (b[:, None, 16:48] >> np.arange(8, dtype=np.uint8).reshape(1, 8, 1)) & _ONE
    return _scaled(b, _nibble_rows(b[:, 48:]) | (bits << _FOUR))


def _q6_k(b: Bytes) -> Floats:
    low = _nibbles(b[:, :128].reshape(-1, 2, 64)).reshape(-1, 16, 16)
    high = _twos(b[:, 128:192])
    q = (low | (high << 4)).astype(np.int8) - 32
    scale = _half(b[:, 208:210]) * b[:, 192:208].view(np.int8).astype(np.float32)
    return (scale[:, :, None] * q.astype(np.float32)).reshape(-1, 256)


def _q8_k(b: Bytes) -> Floats:
    # The 32 bytes after the elements are sums, which only a matrix product uses.
    scale = np.ascontiguousarray(b[:, :4]).view("<f4")
    return scale * b[:, 4:260].view(np.int8).astype(np.float32)


Q4_0 = BlockFormat(32, 18, _q4_0)
Q4_1 = BlockFormat(32, 20, _q4_1)
Q5_0 = BlockFormat(32, 22, _q5_0)
Q5_1 = BlockFormat(32, 24, _q5_1)
Q8_0 = BlockFormat(32, 34, _q8_0)
Q2_K = BlockFormat(256, 84, _q2_k)
Q3_K = BlockFormat(256, 110, _q3_k)
Q4_K = BlockFormat(256, 144, _q4_k)
Q5_K = BlockFormat(256, 176, _q5_k)
Q6_K = BlockFormat(256, 210, _q6_k)
Q8_K = BlockFormat(256, 292, _q8_k)
