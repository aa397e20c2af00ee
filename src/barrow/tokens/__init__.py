"""Tokenizers, and the token store."""

from __future__ import annotations

from barrow.tokens.load import load
from barrow.tokens.store import DocumentEntry, TokenStore, open_store
from barrow.tokens.tokenize import tokenize
from barrow.tokens.tokenizer import Tokenizer

__all__ = ["DocumentEntry", "TokenStore", "Tokenizer", "load", "open_store", "tokenize"]
