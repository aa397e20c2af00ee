"""Tokenizers: load, train, and the exact bytes of every id. The token store."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from barrow.tokens.byte_tokenizer import ByteTokenizer
from barrow.tokens.json_tokenizer import JsonTokenizer
from barrow.tokens.load import load
from barrow.tokens.sample import Sample, draw_sample
from barrow.tokens.tokenizer import Tokenizer
from barrow.tokens.train import train

if TYPE_CHECKING:
    from barrow.tokens.store.build import tokenize
    from barrow.tokens.store.store import DocumentEntry, TokenStore, open_store

__all__ = [
    "ByteTokenizer",
    "DocumentEntry",
    "JsonTokenizer",
    "Sample",
    "TokenStore",
    "Tokenizer",
    "draw_sample",
    "load",
    "open_store",
    "tokenize",
    "train",
]

# Loaded on first use: a tokenizer does not need the archive's libraries.
_HOME_OF = {
    "DocumentEntry": "barrow.tokens.store.store",
    "TokenStore": "barrow.tokens.store.store",
    "open_store": "barrow.tokens.store.store",
    "tokenize": "barrow.tokens.store.build",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'barrow.tokens' has no attribute {name!r}")
