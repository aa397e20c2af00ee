"""Masked language modelling: which tokens are masked, and by what.

Each decision is a hash of (seed, step, row, column), so any slice of a batch is masked as the whole
would be. A token, or with `whole_word` a word, is chosen with `probability`. Of the chosen tokens
`replace` become the mask, `random` become any plain token, and the rest are kept. Special tokens
and padding are never chosen.

A word is a run of tokens of one document from a token that begins with white space up to the next
such token; a special ends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from barrow.stream.batch import Batch
from barrow.stream.order.permutation import GOLDEN, derive, mixed

_WHITE = frozenset((b" ", b"\t", b"\n", b"\r", b"\x0b", b"\x0c"))


@dataclass(frozen=True)
class Mlm:
    """How tokens are masked: 15 %, of these 80 % masked, 10 % random, 10 % kept.

    - `probability`: of a token to be masked; `replace`: share of these that are masked; `random`:
      share that become another token; `whole_word`: all tokens of a word, or none.
    """

    probability: float = 0.15
    replace: float = 0.8
    random: float = 0.1
    whole_word: bool = False

    def __post_init__(self) -> None:
        for name in ("probability", "replace", "random"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"mlm.{name} must be from 0 to 1, got {value}")
        if self.replace + self.random > 1:
            raise ValueError(
                "mlm.replace and mlm.random must sum to at most 1, got "
                f"{self.replace + self.random:g}"
            )


@dataclass(frozen=True, eq=False)
class MaskIds:
    """The ids of a tokenizer that masking needs."""

    mask: int
    plain: npt.NDArray[np.bool_]  # by id: may be chosen, and may replace another
    white: npt.NDArray[np.bool_]  # by id: begins with white space

    def __post_init__(self) -> None:
        if not self.plain.any():
            raise ValueError(
                "masking needs tokens other than special tokens; the vocabulary has none"
            )

    @cached_property
    def plain_ids(self) -> npt.NDArray[np.int32]:
        """The ids that may replace another, in order."""
        return np.flatnonzero(self.plain).astype(np.int32)


class Masking(Protocol):
    """What masking needs of a `barrow.tokens.Tokenizer`."""

    vocab_size: int
    specials: Mapping[str, int]
    mask: int | None

    def token_bytes(self, token: int, /) -> bytes:
        """The bytes of a token."""
        ...


def mask_ids(tokenizer: Masking, *, whole_word: bool) -> MaskIds:
    """The ids of a tokenizer, which must have a mask; white space is looked for if needed."""
    if tokenizer.mask is None:
        raise ValueError(
            "masking needs a tokenizer with a mask token; this one has none. To make one: "
            "barrow tokens train … --roberta"
        )
    plain = np.ones(tokenizer.vocab_size, np.bool_)
    plain[list(tokenizer.specials.values())] = False
    white = np.zeros(tokenizer.vocab_size, np.bool_)
    if whole_word:
        for token in np.flatnonzero(plain).tolist():
            white[token] = tokenizer.token_bytes(token)[:1] in _WHITE
    return MaskIds(tokenizer.mask, plain, white)


def mask_batch(
    batch: Batch, mlm: Mlm, ids: MaskIds, *, seed: int, step: int, row: int = 0, column: int = 0
) -> Batch:
    """A batch with some tokens masked: `targets` has the originals, `mask` where to predict.

    `row` and `column` are its offset in the global batch. With `whole_word` its rows must be whole,
    because a word is identified by its first token.
    """
    if mlm.whole_word and column:
        raise ValueError(f"whole-word masking needs whole rows, got columns from {column}")
    if mlm.whole_word and not (ids.white & ids.plain).any():
        raise ValueError(
            "whole-word masking needs tokens that carry the white space before a word, as those of "
            "byte-level BPE do; this tokenizer has none"
        )
    tokens = batch.tokens
    place = _places(tokens.shape, row, column)
    hideable = ids.plain[tokens] & (batch.segments > 0)
    if mlm.whole_word:
        chosen = _hash(_words(batch, ids, hideable) + place[:, :1], seed, step, "mlm word")
    else:
        chosen = _hash(place, seed, step, "mlm token")
    mask = hideable & (_share(chosen) < mlm.probability)
    fate = _hash(place[mask], seed, step, "mlm fate")
    share = _share(fate)
    # The upper bits decide what happens, the lower ones by what a token is replaced.
    draw = (fate & np.uint64(0xFFFFFFFF)) * np.uint64(len(ids.plain_ids)) >> np.uint64(32)
    random = ids.plain_ids[draw]
    shown = tokens[mask]
    shown = np.where(share < mlm.replace + mlm.random, random, shown)
    shown = np.where(share < mlm.replace, np.int32(ids.mask), shown)
    hidden = tokens.copy()
    hidden[mask] = shown
    return replace(batch, tokens=hidden, targets=tokens, mask=mask)


def _words(batch: Batch, ids: MaskIds, hideable: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """By token: the column at which its word begins."""
    begins = ids.white[batch.tokens] | ~hideable
    begins[:, 0] = True
    begins[:, 1:] |= batch.segments[:, 1:] != batch.segments[:, :-1]
    column = np.where(begins, np.arange(begins.shape[1]), 0)
    return np.maximum.accumulate(column, axis=1).astype(np.uint64)


def _places(shape: tuple[int, ...], row: int, column: int) -> npt.NDArray[np.uint64]:
    """A number for each place of a global batch: its row above 32 bits, its column below."""
    rows = np.arange(row, row + shape[0], dtype=np.uint64) << np.uint64(32)
    return rows[:, None] | np.arange(column, column + shape[1], dtype=np.uint64)


def _share(hashed: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """A number in [0, 1) from the upper 31 bits."""
    return (hashed >> np.uint64(33)).astype(np.float64) / 2**31


def _hash(
    place: npt.NDArray[np.uint64], seed: int, step: int, purpose: str
) -> npt.NDArray[np.uint64]:
    """Words without visible order: of a place, under a key made of seed, step and purpose."""
    key = np.uint64(derive(purpose, seed, step))
    return mixed(mixed(place * np.uint64(GOLDEN)) ^ key)
