"""Characters of UTF-8 in an array, for compiled loops."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from barrow.corpus.kernels.jit import compiled


@compiled
def code_size(byte: np.uint8) -> np.uint64:
    """Bytes of the character that begins with this one."""
    if byte < 0x80:
        return np.uint64(1)
    if byte < 0xE0:
        return np.uint64(2)
    return np.uint64(3) if byte < 0xF0 else np.uint64(4)


@compiled
def code_at(text: npt.NDArray[np.uint8], at: np.uint64) -> np.uint32:
    """The code point of the character that begins at a place."""
    byte = text[at]
    if byte < 0x80:
        return np.uint32(byte)
    second = np.uint32(text[at + np.uint64(1)] & 0x3F)
    if byte < 0xE0:
        return np.uint32(byte & 0x1F) << np.uint32(6) | second
    third = np.uint32(text[at + np.uint64(2)] & 0x3F)
    if byte < 0xF0:
        return np.uint32(byte & 0x0F) << np.uint32(12) | second << np.uint32(6) | third
    return (
        np.uint32(byte & 0x07) << np.uint32(18)
        | second << np.uint32(12)
        | third << np.uint32(6)
        | np.uint32(text[at + np.uint64(3)] & 0x3F)
    )
