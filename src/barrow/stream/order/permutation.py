"""Permutations that are computed, not stored: where index i goes, and what came to place j.

An index below n is written as two digits, ``index = left · b + right`` with ``left < a``,
``right < b``, a = ⌈√n⌉ and b = ⌈n / a⌉. Each round of a Feistel network adds a keyed hash of one
digit to the other, modulo a or b, so a round can be undone whatever the hash is. The at most a − 1
results that are not below n go through the network again until they are (cycle walking). Mixed
digits in place of bits keep that rare: with powers of two up to three results in four would walk.

The hash is the splitmix64 sequence of the key, ``mixed(key + (8 · digit + round) · GOLDEN)``, and
keys are BLAKE2b digests. Both are fixed: they decide what a saved run sees.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

GOLDEN = 0x9E3779B97F4A7C15
MOST = 1 << 62
_ROUNDS = 8
_HALF = np.uint64(32)

Ids = npt.NDArray[np.uint64]


def derive(*parts: int | str) -> int:
    """A number below 2^64 made of other numbers and names: the first 8 bytes of the BLAKE2b digest
    of their JSON list, little-endian.
    """
    text = json.dumps([part if isinstance(part, str) else int(part) for part in parts])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def mixed(value: Ids) -> Ids:
    """The finalising function of splitmix64: a bijection of 64-bit words without visible order."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def keys_of(base: Ids, number: npt.NDArray[np.int64]) -> Ids:
    """Keys of the numbered permutations (epochs, say) that belong to base keys."""
    return mixed(base + (number.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN))


@dataclass(frozen=True)
class Digits:
    """n and its two digits' bases, for many permutations at once."""

    n: Ids
    a: Ids
    b: Ids

    def __getitem__(self, which: npt.NDArray[np.int64]) -> Digits:
        return Digits(self.n[which], self.a[which], self.b[which])


def digits_of(sizes: list[int]) -> Digits:
    """Digits of permutations of the given sizes."""
    for n in sizes:
        if not 0 <= n <= MOST:
            raise ValueError(f"a permutation must have 0 to 2^62 elements, got {n}")
    a = [max(1, math.isqrt(n - 1) + 1) if n else 1 for n in sizes]
    b = [max(1, -(-n // base)) for n, base in zip(sizes, a, strict=True)]
    return Digits(np.array(sizes, np.uint64), np.array(a, np.uint64), np.array(b, np.uint64))


def permute(index: Ids, digits: Digits, key: Ids) -> Ids:
    """Where each index goes, in the permutation of its own size and key."""
    return _walk(index, digits, key, range(_ROUNDS), forward=True)


def unpermute(place: Ids, digits: Digits, key: Ids) -> Ids:
    """The index that went to each place."""
    return _walk(place, digits, key, range(_ROUNDS - 1, -1, -1), forward=False)


def _walk(value: Ids, digits: Digits, key: Ids, rounds: range, *, forward: bool) -> Ids:
    out = _rounds(value, digits, key, rounds, forward=forward)
    outside = np.flatnonzero(out >= digits.n)
    while len(outside):
        again = _rounds(out[outside], digits[outside], key[outside], rounds, forward=forward)
        out[outside] = again
        outside = outside[again >= digits.n[outside]]
    return out


def _rounds(value: Ids, digits: Digits, key: Ids, rounds: range, *, forward: bool) -> Ids:
    bases = (digits.a, digits.b)
    pair = list(np.divmod(value, digits.b))
    for number in rounds:
        changed = number % 2
        counter = pair[1 - changed] * np.uint64(8) + np.uint64(number)
        word = mixed(key + counter * np.uint64(GOLDEN)) >> _HALF
        base = bases[changed]
        # The high half of the product is even over [0, base), without a division.
        shift = (word * base) >> _HALF
        moved = pair[changed] + (shift if forward else base - shift)
        pair[changed] = np.where(moved >= base, moved - base, moved)
    return np.asarray(pair[0] * digits.b + pair[1])


@dataclass(frozen=True)
class Permutation:
    """A bijection of range(n) that a key picks; constant memory for any n up to 2^62."""

    n: int
    key: int

    def __post_init__(self) -> None:
        digits_of([self.n])

    def __call__(self, indices: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Where each index goes."""
        return self._apply(permute, indices)

    def inverse(self, places: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The index that went to each place."""
        return self._apply(unpermute, places)

    def _apply(
        self, function: Callable[[Ids, Digits, Ids], Ids], values: npt.ArrayLike
    ) -> npt.NDArray[np.int64]:
        array = np.asarray(values, np.int64)
        if array.size and not 0 <= array.min() <= array.max() < self.n:
            raise ValueError(
                f"expected numbers from 0 to {self.n - 1}, got {array.min()} to {array.max()}"
            )
        flat = array.reshape(-1).astype(np.uint64)
        digits = digits_of([self.n])[np.zeros(len(flat), np.int64)]
        key = np.full(len(flat), self.key % (1 << 64), np.uint64)
        return function(flat, digits, key).astype(np.int64).reshape(array.shape)
