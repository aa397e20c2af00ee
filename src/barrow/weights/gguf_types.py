"""Element types of GGUF, by the number a file gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.weights import gguf_quants
from barrow.weights.gguf_quants import BlockFormat
from barrow.weights.tensors import Array


@dataclass(frozen=True)
class ElementType:
    """A name, elements and bytes of its smallest unit, and the type it is read as."""

    name: str
    elements: int
    num_bytes: int
    plain: str = ""
    block: BlockFormat | None = None

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Type of the arrays that are given: integers and float64 as they are, else float32."""
        return np.dtype("<f4" if self.plain in ("", "<f2", "bf16") else self.plain)

    def decode(self, raw: Array) -> Array:
        """Elements of a tensor's bytes."""
        if self.block is not None:
            return gguf_quants.dequantise(raw, self.block)
        if self.plain == "bf16":  # the upper half of a float32
            return (raw.view("<u2").astype("<u4") << 16).view("<f4")
        return raw.view(self.plain).astype(self.dtype, copy=False)


def _plain(name: str, dtype: str, num_bytes: int) -> ElementType:
    return ElementType(name, 1, num_bytes, plain=dtype)


def _blocks(name: str) -> ElementType:
    block: BlockFormat = getattr(gguf_quants, name)
    return ElementType(name, block.elements, block.num_bytes, block=block)


TYPES = {
    0: _plain("F32", "<f4", 4),
    1: _plain("F16", "<f2", 2),
    2: _blocks("Q4_0"),
    3: _blocks("Q4_1"),
    6: _blocks("Q5_0"),
    7: _blocks("Q5_1"),
    8: _blocks("Q8_0"),
    10: _blocks("Q2_K"),
    11: _blocks("Q3_K"),
    12: _blocks("Q4_K"),
    13: _blocks("Q5_K"),
    14: _blocks("Q6_K"),
    15: _blocks("Q8_K"),
    24: _plain("I8", "|i1", 1),
    25: _plain("I16", "<i2", 2),
    26: _plain("I32", "<i4", 4),
    27: _plain("I64", "<i8", 8),
    28: _plain("F64", "<f8", 8),
    30: _plain("BF16", "bf16", 2),
}

# Types that llama.cpp has or had and this reader has not; named so that the error can say which.
OTHERS = {
    4: "Q4_2",
    5: "Q4_3",
    9: "Q8_1",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    20: "IQ4_NL",
    21: "IQ3_S",
    22: "IQ2_S",
    23: "IQ4_XS",
    29: "IQ1_M",
    31: "Q4_0_4_4",
    32: "Q4_0_4_8",
    33: "Q4_0_8_8",
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
}
