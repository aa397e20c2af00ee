"""Captions as CLIP's text tower is trained on them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barrow.models.clip_load import bpe_folders
from barrow.tokens.clip_merges import find_merges
from barrow.tokens.clip_tokenizer import CONTEXT, ClipTokenizer

# A tokenizer that needs no file: each byte is a token. For few captions of few words.
BYTES = "bytes"


def named_tokenizer(name: str) -> ClipTokenizer:
    """The tokenizer of a file or folder; ``bytes`` has no merges; "" is OpenAI's, looked for in the
    standard places.
    """
    if name == BYTES:
        return ClipTokenizer(())
    return ClipTokenizer.load(name or find_merges(bpe_folders(os.environ)))


@dataclass(frozen=True)
class ClipTexts:
    """Captions to rows of ids [n, context]: start, the text, end, zeros.

    A caption that is too long is cut, and the end stays: captions found in the wild are.
    """

    tokenizer: ClipTokenizer
    context: int = CONTEXT

    def __post_init__(self) -> None:
        if self.context < 3:
            raise ValueError(f"context: expected 3 or more places, got {self.context}")

    @property
    def hash(self) -> str:
        """The tokenizer's, and the length of a row."""
        return f"{self.tokenizer.hash}-{self.context}"

    def __call__(self, texts: Sequence[str], /) -> npt.NDArray[np.int32]:
        """Rows of ids."""
        ids = np.zeros((len(texts), self.context), np.int32)
        for row, text in zip(ids, texts, strict=True):
            inner = self.tokenizer.encode(text)[: self.context - 2]
            row[: len(inner) + 2] = [self.tokenizer.start, *inner, self.tokenizer.end]
        return ids
