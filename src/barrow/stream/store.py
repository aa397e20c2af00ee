"""What a stream needs of a token store; `barrow.tokens.TokenStore` has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


class Store(Protocol):
    """Documents as ids, by domain: each domain is one sequence of its documents' tokens."""

    @property
    def domains(self) -> tuple[str, ...]: ...
    @property
    def folder(self) -> Path:
        """Where it lies."""
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
        """The numbers of its documents in the store: they follow one another."""
        ...

    def domain_starts(self, domain: int) -> npt.NDArray[np.int64]:
        """Where each begins in the domain's sequence, and the end of the last."""
        ...

    def read(self, domain: int, start: int, stop: int) -> npt.NDArray[Any]:
        """Ids of a domain's sequence."""
        ...
