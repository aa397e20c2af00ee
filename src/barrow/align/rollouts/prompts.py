"""Prompts as training reads them: which are in a step, their tokens and records."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from barrow.align.data.batches import AlignData, Arrays, Numbers, Order
from barrow.align.data.records import Bad, Prompt, prompted, read
from barrow.align.data.rows import Ints, Words, prompt_rows
from barrow.align.rollouts.settings import Prompts
from barrow.errors import ConfigError

if TYPE_CHECKING:
    from barrow.align.rollouts.sampler import Drawn


@dataclass(frozen=True, eq=False)
class PromptData:
    """The prompts of a run."""

    settings: Prompts
    words: Words
    ids: list[Ints]
    records: list[Prompt]
    context: int

    @property
    def stops(self) -> tuple[int, ...]:
        """The tokens that end an answer."""
        end = self.words.end
        return self.words.stops or (() if end is None else (end,))

    @cached_property
    def length(self) -> int:
        """Tokens of a row: the longest prompt and answer, in steps of 64; the last is predicted."""
        longest = max(map(len, self.ids)) + self.settings.max_tokens
        return min(-(-(longest - 1) // 64) * 64, self.context)

    @cached_property
    def texts(self) -> list[str]:
        """The prompts as text, special tokens by name."""
        return [self.words.tokenizer.decode_marked(ids) for ids in self.ids]

    def decoded(self, one: Drawn) -> str:
        """The text of an answer."""
        return self.words.tokenizer.decode(one.ids)

    def data(self) -> AlignData:
        """The order of prompts, as `fit` reads it."""
        digest = hashlib.blake2b(digest_size=16)
        for ids, record in zip(self.ids, self.records, strict=True):
            digest.update(ids.tobytes() + repr(sorted(record.values.items())).encode())
        return AlignData(
            Order(len(self.ids), self.settings.prompts, self.settings.seed),
            _items,
            [[record.place] for record in self.records],
            digest.hexdigest(),
            self.words.about(),
        )


def _items(items: Numbers, num: int, is_first: bool = False) -> Arrays:
    """The numbers of prompts, [rows]; −1 where there is none."""
    del is_first  # rows have one length
    out = np.full(num, -1, np.int32)
    out[: len(items)] = items
    return {"items": out}


def open_prompts(settings: Prompts, words: Words, context: int) -> tuple[PromptData, Bad]:
    """The prompts of a file, and what was left out."""
    bad = Bad(settings.on_bad)
    most = context - settings.max_tokens
    if most < 1:
        raise ConfigError(
            f"answers of {settings.max_tokens} tokens leave no room for a prompt in {context} "
            "positions: set data.max_tokens"
        )
    found: list[Any] = prompt_rows(
        words, read(settings.path, prompted, bad), bad, most=most, room=settings.max_tokens
    )
    if not found:
        raise ConfigError(f"{settings.path} has no prompt that fits; " + "; ".join(bad.lines()))
    ids, records = [ids for ids, _ in found], [record for _, record in found]
    return PromptData(settings, words, ids, records, context), bad
