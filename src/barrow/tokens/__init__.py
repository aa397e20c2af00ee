"""Tokenizers: load, train, and the exact bytes of every id."""

from __future__ import annotations

from barrow.tokens.byte_tokenizer import ByteTokenizer
from barrow.tokens.json_tokenizer import JsonTokenizer
from barrow.tokens.load import load
from barrow.tokens.sample import Sample, draw_sample
from barrow.tokens.tokenizer import Tokenizer
from barrow.tokens.train import train

__all__ = [
    "ByteTokenizer",
    "JsonTokenizer",
    "Sample",
    "Tokenizer",
    "draw_sample",
    "load",
    "train",
]
