"""Block formats: against loops written from their definition, and against llama.cpp's package.

The digests are of what the `dequantize` of PyPI's `gguf` 0.19.0 gives for the same bytes.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest

from barrow.weights import gguf_quants
from barrow.weights.gguf_quants import dequantise

GOLDEN = {
    "Q4_0": ("a377fa4d6b7fb362", 0.758056640625, -9.685754776000977e-05),
    "Q4_1": ("3b99c06d2d5a6b4d", 1.0107777118682861, 13141.5244140625),
    "Q5_0": ("5525020c7f6a475d", -0.758056640625, -1986.25),
    "Q5_1": ("4cc02fcea0597f20", 3.537633180618286, 16.550012588500977),
    "Q8_0": ("dca1455460d2ef48", 3.790283203125, 137686.0),
    "Q2_K": ("867daa3c0bd25462", 0.0, -0.28289794921875),
    "Q3_K": ("5c9b5994a0a82204", -5087.25, 18.19921875),
    "Q4_K": ("b3b2e0d5387402e6", 19.709365844726562, 231.58721923828125),
    "Q5_K": ("68d093f68d19c8ce", 19.709365844726562, -2395.31884765625),
    "Q6_K": ("997d06b010198820", -1436.9140625, -230985.0),
}


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


def q8_k(b: bytes) -> list[float]:
    d = struct.unpack("<f", b[:4])[0]
    return [d * signed(q) for q in b[4:260]]


REFERENCE = {
    **{name: (lambda b, name=name: small(b, name)) for name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1")},
    "Q8_0": lambda b: small(b, "Q8_0"),
    "Q2_K": q2_k,
    "Q3_K": q3_k,
    "Q6_K": q6_k,
    "Q8_K": q8_k,
    "Q4_K": lambda b: q45_k(b, five=False),
    "Q5_K": lambda b: q45_k(b, five=True),
}
HALVES = {"Q8_K": [], "Q4_0": [0], "Q5_0": [0], "Q8_0": [0], "Q3_K": [108], "Q6_K": [208]}
HALVES |= {"Q2_K": [80, 82]}


@pytest.mark.parametrize("name", REFERENCE)
def test_every_bit_has_its_place(name: str) -> None:
    block = getattr(gguf_quants, name)
    rng = np.random.default_rng(7)
    raw = rng.integers(0, 256, (40, block.num_bytes), dtype=np.uint8)
    for start in HALVES.get(name, [0, 2]):  # scales of ordinary size
        raw[:, start : start + 2] = rng.normal(size=(40, 1)).astype("<f2").view(np.uint8)
    if name == "Q8_K":
        raw[:, :4] = rng.normal(size=(40, 1)).astype("<f4").view(np.uint8)
    expected = np.array([REFERENCE[name](bytes(row)) for row in raw]).reshape(-1)
    found = dequantise(raw.reshape(-1), block)
    assert found.dtype == np.float32
    assert expected.shape == found.shape == (40 * block.elements,)
    # float32 against Python's float64; minima make cancellation possible.
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-3)
    assert np.count_nonzero(expected) > 30 * block.elements


@pytest.mark.parametrize("name", GOLDEN)
def test_values_of_another_implementation(name: str) -> None:
    block = getattr(gguf_quants, name)
    raw = ((np.arange(64 * block.num_bytes) * 37 + 11) % 120).astype(np.uint8)
    found = dequantise(raw, block)
    digest, fifth, last = GOLDEN[name]
    assert (float(found[5]), float(found[-1])) == (fifth, last)
    assert hashlib.sha256(found.astype("<f4").tobytes()).hexdigest()[:16] == digest


def test_more_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = np.random.default_rng(0).integers(0, 120, 18 * 100, dtype=np.uint8)
    whole = dequantise(raw, gguf_quants.Q4_0)
    monkeypatch.setattr(gguf_quants, "_CHUNK_ELEMENTS", 32 * 7)
    np.testing.assert_array_equal(dequantise(raw, gguf_quants.Q4_0), whole)


def test_no_blocks_and_scales_that_are_no_numbers() -> None:
    assert dequantise(np.empty(0, np.uint8), gguf_quants.Q6_K).shape == (0,)
    raw = np.full(144, 0xFF, np.uint8)
    assert np.isnan(dequantise(raw, gguf_quants.Q4_K)).all()
