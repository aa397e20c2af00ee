"""The tokenizer that a store was made with, which lies in its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barrow.stream.store import Store

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer


def store_tokenizer(store: Store) -> Tokenizer:
    """The tokenizer of a store."""
    from barrow.tokens import load  # which needs more than NumPy

    return load(store.folder / "tokenizer")


def padding_of(store: Store) -> int:
    """The id that its tokenizer fills rows with; a tokenizer without one is refused."""
    pad = store_tokenizer(store).pad
    if pad is None:
        raise ValueError(
            "masked models need a tokenizer with a padding token, after which their positions "
            "begin; this one has none: barrow tokenizer train … --roberta makes one that has"
        )
    return pad
