"""Kinds of ASCII bytes, for scans over UTF-8 text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled

Bytes = npt.NDArray[np.uint8]

# Bits: digits, letters, other characters of a mail address before its @, those between groups of
# digits, other characters of a key.
DIGIT, LETTER, LOCAL, BETWEEN, JOINS = 1, 2, 4, 8, 16
WORD = DIGIT | LETTER
IN_KEY = WORD | JOINS


def _classes() -> Bytes:
    table = np.zeros(256, np.uint8)
    table[list(b"0123456789")] = DIGIT
    table[list(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")] = LETTER
    for byte in b"._%+'-":
        table[byte] |= LOCAL
    for byte in b" -./()":
        table[byte] |= BETWEEN
    for byte in b"_-+/":
        table[byte] |= JOINS
    return table


CLASSES = _classes()


def packed(*words: bytes) -> npt.NDArray[np.uint32]:
    """Words of up to four bytes as numbers, the first byte lowest."""
    return np.array(sorted(int.from_bytes(word, "little") for word in words), np.uint32)


@compiled
def is_kind(byte: int, kinds: int) -> bool:
    """Whether a byte is of one of some kinds."""
    return bool(CLASSES[byte] & np.uint8(kinds))


@compiled
def contains(values: npt.NDArray[np.uint32], value: np.uint32) -> bool:
    """Whether a value is in a short array."""
    for k in range(len(values)):  # noqa: SIM110
        if values[k] == value:
            return True
    return False
