"""What a stream needs of a token store; `barrow.tokens.TokenStore` has it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer


class Store(Protocol):
    """Documents as ids, by domain: each domain is one sequence of its documents' tokens."""

    @property
    def domains(self) -> tuple[str, ...]: ...
    @property
    def folder(self) -> Path:
        """Its folder."""
        ...

    @property
    def identity(self) -> str:
        """A hash of all that is in it."""
        ...

    @property
    def tokenizer_hash(self) -> str:
        """A hash of what its ids mean."""
        ...

    @property
    def vocab_size(self) -> int: ...
    @property
    def begin(self) -> int | None:
        """The id every document begins with."""
        ...

    @property
    def end(self) -> int | None:
        """The id every document ends with."""
        ...

    def domain_tokens(self, domain: int) -> int:
        """Tokens of a domain."""
        ...

    def domain_range(self, domain: int) -> range:
        """The numbers of its documents in the store, which are consecutive."""
        ...

    def domain_starts(self, domain: int) -> npt.NDArray[np.int64]:
        """Where each begins in the domain's sequence, and the end of the last."""
        ...

    def read(self, domain: int, start: int, stop: int) -> npt.NDArray[Any]:
        """Ids of a domain's sequence."""
        ...


def store_tokenizer(store: Store) -> Tokenizer:
    """The tokenizer of a store."""
    from barrow.tokens import load  # which needs more than NumPy

    return load(store.folder / "tokenizer")


def padding_of(store: Store) -> int:
    """The padding id of its tokenizer; raises if there is none."""
    pad = store_tokenizer(store).pad
    if pad is None:
        raise ValueError(
            "masked models need a tokenizer with a padding token; this one has none. "
            "To make one: barrow tokens train … --roberta"
        )
    return pad
