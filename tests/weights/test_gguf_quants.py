"""Quantized types of GGUF, against loops written from the definition of their blocks."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from barrow.weights import open_gguf
from barrow.weights.gguf import tensors as module

# Number of the type, elements and bytes of a block.
TYPES = {"Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24)}
TYPES |= {"Q8_0": (8, 32, 34), "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110)}
TYPES |= {"Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210)}


def half(data: bytes) -> float:
    return float(struct.unpack("<e", data)[0])


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def fives(quants: bytes, bits: bytes) -> list[int]:
    """32 numbers of five bits: nibbles, and the fifth bit of each in a word."""
    word = int.from_bytes(bits, "little")
    nibbles = [b & 15 for b in quants] + [b >> 4 for b in quants]
    return [n + 16 * (word >> i & 1) for i, n in enumerate(nibbles)]


def small(b: bytes, name: str) -> list[float]:
    d = half(b[:2])
    if name == "Q4_0":
        return [d * (q - 8) for q in [x & 15 for x in b[2:]] + [x >> 4 for x in b[2:]]]
    if name == "Q4_1":
        return [d * q + half(b[2:4]) for q in [x & 15 for x in b[4:]] + [x >> 4 for x in b[4:]]]
    if name == "Q5_0":
        return [d * (q - 16) for q in fives(b[6:], b[2:6])]
    if name == "Q5_1":
        return [d * q + half(b[2:4]) for q in fives(b[8:], b[4:8])]
    return [d * signed(q) for q in b[2:]]


def q2_k(b: bytes) -> list[float]:
    scales, quants, d, dmin = b[:16], b[16:80], half(b[80:82]), half(b[82:84])
    out = []
    for i in range(256):
        part, row, column = i // 128, i % 128 // 32, i % 32
        q = quants[32 * part + column] >> (2 * row) & 3
        scale = scales[i // 16]
        out.append(d * (scale & 15) * q - dmin * (scale >> 4))
    return out


def q3_k(b: bytes) -> list[float]:
    mask, quants, packed, d = b[:32], b[32:96], b[96:108], half(b[108:110])
    out = []
    for i in range(256):
        part, row, column, group = i // 128, i % 128 // 32, i % 32, i // 16
        q = quants[32 * part + column] >> (2 * row) & 3
        if not mask[column] >> (i // 32) & 1:
            q -= 4
        low = packed[group % 8] >> (4 * (group // 8)) & 15
        high = packed[8 + group % 4] >> (2 * (group // 4)) & 3
        out.append(d * ((low | high << 4) - 32) * q)
    return out


def scale_and_minimum(packed: bytes, j: int) -> tuple[int, int]:
    if j < 4:
        return packed[j] & 63, packed[j + 4] & 63
    scale = packed[j + 4] & 15 | (packed[j - 4] >> 6) << 4
    return scale, packed[j + 4] >> 4 | (packed[j] >> 6) << 4


def q45_k(b: bytes, *, five: bool) -> list[float]:
    d, dmin, packed = half(b[:2]), half(b[2:4]), b[4:16]
    bits, quants = (b[16:48], b[48:]) if five else (bytes(32), b[16:])
    out = []
    for i in range(256):
        row, column = i // 32, i % 32
        q = quants[32 * (row // 2) + column] >> (4 * (row % 2)) & 15
        q += 16 * (bits[column] >> row & 1)
        scale, minimum = scale_and_minimum(packed, row)
        out.append(d * scale * q - dmin * minimum)
    return out


def q6_k(b: bytes) -> list[float]:
    low, high, scales, d = b[:128], b[128:192], b[192:208], half(b[208:210])
    out = []
    for i in range(256):
        part, row, column = i // 128, i % 128 // 32, i % 32
        nibble = low[64 * part + 32 * (row % 2) + column] >> (4 * (row // 2)) & 15
        q = nibble | (high[32 * part + column] >> (2 * row) & 3) << 4
        out.append(d * signed(scales[i // 16]) * (q - 32))
    return out


REFERENCE = {
    **{name: (lambda b, name=name: small(b, name)) for name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1")},
    "Q8_0": lambda b: small(b, "Q8_0"),
    "Q2_K": q2_k,
    "Q3_K": q3_k,
    "Q6_K": q6_k,
    "Q4_K": lambda b: q45_k(b, five=False),
    "Q5_K": lambda b: q45_k(b, five=True),
}
HALVES = {"Q4_0": [0], "Q5_0": [0], "Q8_0": [0], "Q3_K": [108], "Q6_K": [208], "Q2_K": [80, 82]}


def decoded(gguf: Callable, name: str, raw: np.ndarray) -> np.ndarray:
    """Blocks [rows, bytes of a row], as a file's tensor, read."""
    number, elements, num_bytes = TYPES[name]
    shape = (len(raw), raw.shape[1] // num_bytes * elements)
    found = open_gguf(gguf({}, {"w": (number, shape, raw.tobytes())}))
    assert found.types == {"w": name}
    return found.tensors["w"]


@pytest.mark.parametrize("name", REFERENCE)
def test_every_bit_has_its_place(gguf: Callable, name: str) -> None:
    _, elements, num_bytes = TYPES[name]
    rng = np.random.default_rng(7)
    raw = rng.integers(0, 256, (40, num_bytes), dtype=np.uint8)
    for start in HALVES.get(name, [0, 2]):  # scales of ordinary size
        raw[:, start : start + 2] = rng.normal(size=(40, 1)).astype("<f2").view(np.uint8)
    expected = np.array([REFERENCE[name](bytes(row)) for row in raw])
    found = decoded(gguf, name, raw.reshape(20, -1))
    assert found.dtype == np.float32
    assert found.shape == (20, 2 * elements)
    # float32 against Python's float64; minima make cancellation possible.
    np.testing.assert_allclose(found, expected.reshape(20, -1), rtol=1e-5, atol=1e-3)
    assert np.count_nonzero(expected) > 30 * elements


def test_more_than_a_chunk(gguf: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = np.random.default_rng(0).integers(0, 120, (50, 36), dtype=np.uint8)
    whole = decoded(gguf, "Q4_0", raw)
    monkeypatch.setattr(module, "_CHUNK_ELEMENTS", 64 * 7)
    np.testing.assert_array_equal(decoded(gguf, "Q4_0", raw), whole)


def test_no_blocks_and_scales_that_are_not_numbers(gguf: Callable) -> None:
    assert decoded(gguf, "Q6_K", np.empty((3, 0), np.uint8)).shape == (3, 0)
    assert np.isnan(decoded(gguf, "Q4_K", np.full((1, 144), 0xFF, np.uint8))).all()
