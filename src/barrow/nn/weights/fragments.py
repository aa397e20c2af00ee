"""Sums of products by tensor cores, with weights of 16, 8 or 4 bits in registers of 32.

A warp multiplies lines of inputs of eight outputs with rows of x. Thread 4i + j has part j of each
line of output i and of x, and gets the sums of outputs 2j and 2j + 1. `fragment_sums` is written
over single instructions, so that it can be tested without a GPU.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

OVER = 128.0  # what sums of 8 and 4 bits must be multiplied by


class Instructions(Protocol):
    """On registers of 32 bits (`Any`): two bfloat16, or a float32."""

    zero: Any

    def keep(self, word: Any, mask: int) -> Any:
        """Word and mask."""

    def flip(self, word: Any, mask: int) -> Any:
        """Word xor mask."""

    def shift(self, word: Any, by: int) -> Any:
        """Word >> by."""

    def pick(self, word: Any, order: int) -> Any:
        """PTX's `prmt` of word and 0: digit i of order is the number of byte i."""

    def scaled(self, pair: Any, by: int, less: int) -> Any:
        """Both bfloat16 of a pair · by + less, which are the bits of pairs."""

    def mma(self, sums: list[Any], a: list[Any], b: list[Any]) -> list[Any]:
        """PTX's `mma` of m16n8k16: sums + a · b."""

    def add(self, a: Any, b: Any) -> Any:
        """In float32."""

    def multiply(self, a: Any, b: Any) -> Any:
        """In float32."""


def fragment_sums(
    ops: Instructions, bits: int, words: list[Any], xs: list[Any], scales: list[Any]
) -> list[list[Any]]:
    """For each row of `xs` the two sums of a thread; of 8 and 4 bits, over `OVER`.

    `words` and each row of `xs` have a thread's registers of each line, and `scales` the two of its
    outputs; there are none except of 4 bits, where a line is a group.
    """
    chains = 1 if scales else 2  # an instruction that needs the sum of the last waits for it
    parts = [[[ops.zero] * 4 for _ in range(2 * chains)] for _ in xs]
    totals: list[Any] = [None] * len(xs)

    def joined(part: list[Any]) -> list[Any]:
        halves = [
            [ops.add(part[i][c], part[i + 1][2 + c]) for c in range(2)]
            for i in range(0, 2 * chains, 2)
        ]
        return halves[0] if chains == 1 else [ops.add(*both) for both in zip(*halves, strict=True)]

    for line, of_line in enumerate(words):
        pairs = [pair for word in of_line for pair in _pairs(ops, bits, word)]
        for row, x in enumerate(xs):
            # Four registers of x are two rows of the left side: the first and third, the second and
            # fourth. Of one product the first row is meant, of the other the second.
            for i in range(0, len(pairs), 4):
                chain = 2 * ((line * len(pairs) + i) // 4 % chains)
                for odd in range(2):
                    b = [pairs[i + odd], pairs[i + odd + 2]]
                    part = parts[row][chain + odd]
                    parts[row][chain + odd] = ops.mma(part, x[line][i : i + 4], b)
            if scales:
                more = [
                    ops.multiply(*two) for two in zip(scales[line], joined(parts[row]), strict=True)
                ]
                old = totals[row]
                totals[row] = (
                    more if old is None else [ops.add(*two) for two in zip(old, more, strict=True)]
                )
                parts[row] = [[ops.zero] * 4 for _ in range(2)]
    return totals if scales else [joined(part) for part in parts]


def _pairs(ops: Instructions, bits: int, word: Any) -> list[Any]:
    """The numbers of a word as pairs of bfloat16; of 8 and 4 bits, over `OVER`.

    Numbers without a sign are, as bits of bfloat16, numbers below the normal ones: n · 2⁻¹³³. One
    instruction makes (n − 128) / 128 or (n − 8) / 128 of two, exactly.
    """
    if bits == 16:
        return [word]
    if bits == 8:
        word = ops.flip(word, 0x80808080)
        return [
            ops.scaled(ops.pick(word, order), _twice(0x7E80), _twice(0xBF80))  # 2¹²⁶, −1
            for order in (0x4140, 0x4342)
        ]
    return [
        ops.scaled(ops.keep(one, _twice(mask)), _twice(by), _twice(0xBD80))  # −1/16
        for one in (word, ops.shift(word, 8))
        for mask, by in ((0x0F, 0x7E80), (0xF0, 0x7C80))  # 2¹²⁶, 2¹²²
    ]


def _twice(bits: int) -> int:
    return bits << 16 | bits


def warp_sums(
    shape: tuple[int, int], layout: Any, _: Any, xs: list[Any], values: Any, scales: Any = None
) -> list[Any]:
    """A step of a kernel: `fragment_sums` of arrays as its threads hold them, [ways, outputs]."""
    from jax.experimental.mosaic.gpu.fragmented_array import FragmentedArray

    ops = Registers()
    form = layout.registers_shape(shape)
    # Eight outputs after eight, each with all lines; x and groups are held line by line.
    words = values.registers.reshape(math.prod(form), -1)
    num = words.shape[1]
    of_x = [
        [
            [word for part in line for word in ops.words(part)]
            for line in x.registers.reshape(num, -1)
        ]
        for x in xs
    ]
    made = [np.empty(form, dtype=object) for _ in xs]
    for tile, lines in enumerate(words):
        of_scales = [] if scales is None else scales.registers.reshape(num, len(words), -1)[:, tile]
        found = fragment_sums(
            ops,
            values.mlir_dtype.width if scales is None else 4,
            [ops.words(line) for line in lines],
            of_x,
            [[one for part in line for one in ops.floats(part)] for line in of_scales],
        )
        for array, two in zip(made, found, strict=True):
            array.reshape(-1)[tile] = ops.pair(two)
    return [FragmentedArray(_registers=a, _layout=layout, _is_signed=None) for a in made]


class Registers:
    """The instructions of a GPU, inside a kernel."""

    def __init__(self) -> None:
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import arith, llvm, vector

        self.ir: Any
        self.arith: Any
        self.llvm: Any
        self.vector: Any
        self.ir, self.arith, self.llvm, self.vector = ir, arith, llvm, vector
        self.word, self.float = ir.IntegerType.get_signless(32), ir.F32Type.get()
        self.zero = self.arith.constant(self.float, 0.0)

    def words(self, register: Any) -> list[Any]:
        """A thread's vector of numbers as words."""
        kind = self.ir.VectorType(register.type)
        size = kind.shape[0] * kind.element_type.width // 32
        if kind.element_type != self.word:
            register = self.vector.bitcast(self.ir.VectorType.get((size,), self.word), register)
        return self._items(register, size)

    def floats(self, register: Any) -> list[Any]:
        """A thread's vector of numbers as float32."""
        found = self._items(register, self.ir.VectorType(register.type).shape[0])
        return [x if x.type == self.float else self.arith.extf(self.float, x) for x in found]

    def pair(self, floats: list[Any]) -> Any:
        """As a vector."""
        return self.vector.from_elements(self.ir.VectorType.get((2,), self.float), floats)

    def keep(self, word: Any, mask: int) -> Any:
        return self.arith.andi(word, self._constant(mask))

    def flip(self, word: Any, mask: int) -> Any:
        return self.arith.xori(word, self._constant(mask))

    def shift(self, word: Any, by: int) -> Any:
        return self.arith.shrui(word, self._constant(by))

    def pick(self, word: Any, order: int) -> Any:
        return self._asm(self.word, f"prmt.b32 $0, $1, 0, {order};", "=r,r", word)

    def scaled(self, pair: Any, by: int, less: int) -> Any:
        both = self._constant(by), self._constant(less)
        return self._asm(self.word, "fma.rn.bf16x2 $0, $1, $2, $3;", "=r,r,r,r", pair, *both)

    def mma(self, sums: list[Any], a: list[Any], b: list[Any]) -> list[Any]:
        text = (
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{$0,$1,$2,$3}, {$4,$5,$6,$7}, {$8,$9}, {$10,$11,$12,$13};"
        )
        kind = self.llvm.StructType.get_literal([self.float] * 4)
        found = self._asm(kind, text, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", *a, *b, *sums)
        return [self.llvm.extractvalue(self.float, found, [i]) for i in range(4)]

    def add(self, a: Any, b: Any) -> Any:
        return self.arith.addf(a, b)

    def multiply(self, a: Any, b: Any) -> Any:
        return self.arith.mulf(a, b)

    def _items(self, register: Any, size: int) -> list[Any]:
        places = [self.ir.DenseI64ArrayAttr.get([i]) for i in range(size)]
        return [self.vector.extract(register, [], place) for place in places]

    def _constant(self, value: int) -> Any:
        return self.arith.constant(self.word, value - (value >> 31 << 32))

    def _asm(self, kind: Any, text: str, places: str, *given: Any) -> Any:
        return self.llvm.inline_asm(kind, given, text, places, has_side_effects=False)
