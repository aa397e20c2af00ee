"""Texts as rows of tokens for an encoder, and rows as padded arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from barrow.models.buckets import bucket
from barrow.models.roberta.model import RobertaConfig, too_long

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer

Tokens = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Row:
    """The tokens of a text between its begin and end tokens; `num_cut` were past the context."""

    tokens: Tokens
    num_cut: int = 0


def text_rows(
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    config: RobertaConfig,
    truncate: bool = False,
    first: int = 0,
) -> list[Row]:
    """Rows of texts, in which what looks like a special token is plain text.

    A text past the context is an error that names it by its number, `first` for the first of them;
    with `truncate` it is cut, and the end token is kept.
    """
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    ids, starts = tokenizer.encode_texts(np.frombuffer(b"".join(data), np.uint8), offsets)
    before = [] if tokenizer.begin is None else [tokenizer.begin]
    after = [] if tokenizer.end is None else [tokenizer.end]
    rows = []
    for number, (start, stop) in enumerate(pairwise(starts)):
        found = np.concatenate([before, ids[start:stop], after]).astype(np.int32)
        rows.append(_fitted(found, config, len(after), truncate, f"text {first + number}: "))
    return rows


def marked_row(
    tokenizer: Tokenizer, text: str, *, config: RobertaConfig, truncate: bool = False
) -> Row:
    """The row of one text, in which special tokens are found by their names."""
    found = tokenizer.encode_marked(text).astype(np.int32)
    return _fitted(found, config, 0 if tokenizer.end is None else 1, truncate, "")


def _fitted(found: Tokens, config: RobertaConfig, num_after: int, truncate: bool, who: str) -> Row:
    if not len(found):
        raise ValueError(f"{who}the text is empty, and the tokenizer adds nothing to it")
    if found.max(initial=0) >= config.vocab_size:
        raise ValueError(
            f"{who}the tokenizer gives id {found.max()}, but the model has "
            f"{config.vocab_size} ids: do they match?"
        )
    num_cut = max(0, len(found) - config.context)
    if not num_cut:
        return Row(found)
    if not truncate:
        raise ValueError(who + too_long(config, len(found)))
    kept = config.context - num_after
    return Row(np.concatenate([found[:kept], found[len(found) - num_after :]]), num_cut)


def padded(
    rows: Sequence[Any], *, config: RobertaConfig, num_rows: int | None = None
) -> tuple[Tokens, Tokens]:
    """Rows in one array [rows, length], padded so that few programs are compiled.

    And their lengths. `num_rows` adds rows of one padding token.
    """
    lengths = np.ones(len(rows) if num_rows is None else num_rows, np.int32)
    lengths[: len(rows)] = [len(row) for row in rows]
    longest = int(lengths.max(initial=1))
    if longest > config.context:
        raise ValueError(too_long(config, longest))
    tokens = np.full((len(lengths), bucket(longest, config.context)), config.pad, np.int32)
    for number, row in enumerate(rows):
        tokens[number, : len(row)] = row
    return tokens, lengths
