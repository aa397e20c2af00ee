"""Hashes of runs of bytes, eight at a time; case and punctuation count."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled

START = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x9E3779B97F4A7C15)


@compiled
def mix(value: np.uint64, chunk: np.uint64) -> np.uint64:
    """Mix in eight bytes. High bits are shifted down, or later bytes could cancel them."""
    value = (value ^ chunk) * _PRIME
    return value ^ value >> np.uint64(32)


@compiled
def finish(value: np.uint64, size: np.uint64) -> np.uint64:
    """Mix in the number of bytes, so that zeros count; never 0."""
    value = (value ^ size) * _PRIME
    return (value ^ value >> np.uint64(29)) | np.uint64(1) << np.uint64(63)


@compiled
def bytes_at(
    text: npt.NDArray[np.uint8], eights: npt.NDArray[np.uint64], at: np.uint64
) -> np.uint64:
    """The 8 bytes from a place as a number; zeros after the end of the buffer."""
    if at + np.uint64(8) <= np.uint64(len(text)):
        return np.uint64(eights[at])
    value = np.uint64(0)
    for k in range(np.uint64(len(text)) - at):
        value |= np.uint64(text[at + np.uint64(k)]) << np.uint64(8 * k)
    return value


@compiled
def hash_bytes(
    text: npt.NDArray[np.uint8],
    eights: npt.NDArray[np.uint64],
    first: np.uint64,
    end: np.uint64,
) -> np.uint64:
    """The hash of ``text[first:end]``."""
    eight = np.uint64(8)
    value, at = START, first
    while at + eight <= end:
        value = mix(value, eights[at])
        at += eight
    kept = end - at
    chunk = np.uint64(0)
    if kept:
        chunk = bytes_at(text, eights, at) & ((np.uint64(1) << kept * eight) - np.uint64(1))
    return finish(mix(value, chunk), end - first)
