"""Rows of tokens for heads: a text, a pair of texts, a text in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from barrow.models.roberta.model import RobertaConfig, too_long
from barrow.models.rows import Row, Tokens

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer as Tokenizer


@dataclass(frozen=True)
class Limit:
    """The maximum tokens of a row, special tokens included; longer ones are truncated or refused.

    - `max_length`: None for all that the model takes; `truncate`: cut longer rows.
    """

    max_length: int | None = None
    truncate: bool = False

    def of(self, config: RobertaConfig) -> int:
        """The number for a model."""
        if self.max_length is not None and not 4 < self.max_length <= config.context:
            raise ValueError(
                f"max_length must be from 5 to {config.context}, the model's positions, "
                f"got {self.max_length}"
            )
        return config.context if self.max_length is None else self.max_length


@dataclass(frozen=True)
class WordRow:
    """The tokens of a text given in words; `first` are the places of each word's first token.

    `num_cut` words have none, because they were past the limit.
    """

    tokens: Tokens
    first: npt.NDArray[np.int64]
    num_cut: int = 0


def pair_rows(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    pairs: Sequence[str | None],
    *,
    config: RobertaConfig,
    places: Sequence[str],
    limit: Limit | None = None,
) -> list[Row]:
    """``<s> text </s>``, or ``<s> text </s></s> pair </s>``, with the tokenizer's begin and end.

    Truncated, the longer of two texts is cut first, as transformers' ``longest_first`` does.
    `places` name the rows in errors.
    """
    limit = limit or Limit()
    most = limit.of(config)
    ids = encoded(tokenizer, [*texts, *(pair or "" for pair in pairs)])
    begin, end = _around(tokenizer)
    # Without an end token, two texts are separated by the begin token.
    between = np.concatenate([end, end]) if len(end) else begin
    if not len(between) and any(pair is not None for pair in pairs):
        raise ValueError("the tokenizer has no begin or end token to separate two texts")
    rows = []
    for number, (pair, place) in enumerate(zip(pairs, places, strict=True)):
        first, second = ids[number], ids[len(texts) + number]
        extra = len(begin) + len(end) + (0 if pair is None else len(between))
        num_cut = max(0, len(first) + len(second) + extra - most)
        if num_cut:
            _refuse(limit, config, len(first) + len(second) + extra, place)
            lengths = _longest_first(len(first), len(second), most - extra)
            first, second = first[: lengths[0]], second[: lengths[1]]
        parts = [begin, first, end] if pair is None else [begin, first, between, second, end]
        rows.append(Row(_joined(parts, config, place), num_cut))
    return rows


def word_rows(
    tokenizer: Tokenizer,
    texts: Sequence[Sequence[str]],
    *,
    config: RobertaConfig,
    places: Sequence[str],
    limit: Limit | None = None,
) -> list[WordRow]:
    """``<s> words </s>``, each word after a space, as transformers' ``is_split_into_words`` has
    it with ``add_prefix_space``.
    """
    limit = limit or Limit()
    most = limit.of(config)
    begin, end = _around(tokenizer)
    every = [word if word.startswith(" ") else f" {word}" for words in texts for word in words]
    ids = iter(encoded(tokenizer, every))
    rows = []
    for words, place in zip(texts, places, strict=True):
        pieces = [next(ids) for _ in words]
        starts = len(begin) + np.cumsum([0, *map(len, pieces)])
        total = int(starts[-1]) + len(end)
        if total > most:
            _refuse(limit, config, total, place)
        room = most - len(end)
        inside = np.concatenate([np.empty(0, np.int32), *pieces])[: room - len(begin)]
        first = np.array([s for s in starts[:-1] if s < room], np.int64)
        rows.append(
            WordRow(_joined([begin, inside, end], config, place), first, len(words) - len(first))
        )
    return rows


def encoded(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Tokens]:
    """The tokens of texts, without special tokens."""
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    ids, starts = tokenizer.encode_texts(np.frombuffer(b"".join(data), np.uint8), offsets)
    return [ids[start:stop].astype(np.int32) for start, stop in pairwise(starts)]


def _around(tokenizer: Tokenizer) -> tuple[Tokens, Tokens]:
    begin, end = (
        np.array([] if token is None else [token], np.int32)
        for token in (tokenizer.begin, tokenizer.end)
    )
    return begin, end


def _longest_first(first: int, second: int, most: int) -> tuple[int, int]:
    short, long = sorted((first, second))
    long = short if short > most else max(short, most - short)
    if short + long > most:
        short, long = most // 2, most // 2 + most % 2
    return (long, short) if first > second else (short, long)


def _refuse(limit: Limit, config: RobertaConfig, num: int, place: str) -> None:
    if limit.truncate:
        return
    how = "data.limit.truncate=true, --truncate"
    if num > config.context:
        raise ValueError(f"{place}: {too_long(config, num, how=how)}")
    raise ValueError(
        f"{place}: {num} tokens, but max_length is {limit.max_length}: shorten the text, or "
        f"truncate it ({how})"
    )


def _joined(parts: Sequence[Tokens], config: RobertaConfig, place: str) -> Tokens:
    found = np.concatenate(parts).astype(np.int32)
    if found.max(initial=0) >= config.vocab_size:
        raise ValueError(
            f"{place}: the tokenizer gives id {found.max()}, but the model has "
            f"{config.vocab_size} ids: do they match?"
        )
    return found
