"""Captions to rows of ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt


class TextEncoder(Protocol):
    """What a stream of pairs needs of a tokenizer.

    `hash` identifies the encoding: two encoders with the same hash give the same ids.
    """

    @property
    def context(self) -> int:
        """Places of a row."""
        ...

    @property
    def hash(self) -> str: ...

    def __call__(self, texts: Sequence[str], /) -> npt.NDArray[np.int32]:
        """Rows of ids [n, context], padded; a text that is too long is cut."""
        ...


class ClipLike(Protocol):
    """What `ClipTexts` needs of CLIP's tokenizer."""

    start: int
    end: int

    @property
    def hash(self) -> str: ...

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without start and end."""
        ...


@dataclass(frozen=True)
class ClipTexts:
    """Rows by CLIP's tokenizer: start, ids, end, then 0.

    A caption of the web may be longer than a row: it is cut, and the end stays.
    """

    tokenizer: ClipLike
    context: int = 77

    @property
    def hash(self) -> str:
        """The tokenizer's, and the length of a row."""
        return f"{self.tokenizer.hash}-{self.context}"

    def __call__(self, texts: Sequence[str], /) -> npt.NDArray[np.int32]:
        """Rows of ids."""
        room = self.context - 2
        if room < 1:
            raise ValueError(f"context: expected 3 or more places, got {self.context}")
        out = np.zeros((len(texts), self.context), np.int32)
        for row, text in zip(out, texts, strict=True):
            ids = [self.tokenizer.start, *self.tokenizer.encode(text)[:room], self.tokenizer.end]
            row[: len(ids)] = ids
        return out
