"""The interface of scored models, and the small protocol that users implement."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from barrow.score.card import Likelihood, Scope, Window

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer


@dataclass(frozen=True)
class ModelInfo:
    """A description of a model.

    `kind` is "barrow", "transformers", "server", "baseline", "compressor" or "custom". `identity`
    is the sha256 of the weights, or of whatever determines the numbers. `about` is its provenance
    as JSON: path, run, training manifest, versions.
    """

    name: str
    kind: str
    identity: str
    num_params: int | None = None
    size_bytes: int | None = None
    train_tokens: int | None = None
    tokenizer: str | None = None
    dtype: str | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class TextScore:
    """Of one document: `nats` is the float64 total of −log p.

    `tokens` are those scored: bytes for byte models, 0 for compressors. `byte_nats` are the nats of
    every token spread evenly over its raw bytes: one number for each byte of the text, which sum to
    `nats`; None if only the total is known. `projection` is how tokens were mapped to bytes:
    "bytes" where those of the tokens are those of the text, "offsets" or "document" where the
    tokenizer changes the text (see `score.projection`).
    """

    nats: float
    tokens: int
    byte_nats: npt.NDArray[np.float64] | None = None
    projection: Literal["bytes", "offsets", "document"] = "bytes"


class Model(abc.ABC):
    """Scores documents, each alone.

    `likelihood` and `window` go into the score card. `group_bytes` is how much text to pass at a
    time: enough to sort documents by length, small enough for memory.
    """

    info: ModelInfo
    likelihood: Likelihood = "causal"
    window: Window | None = None
    scope: Scope = "document"
    group_bytes: int = 1 << 20

    @abc.abstractmethod
    def score(self, texts: Sequence[bytes]) -> list[TextScore]:
        """The scores of documents, in order; each is UTF-8, and may be empty."""


class DomainScorer(abc.ABC):
    """Receives the documents of one domain, one by one."""

    @abc.abstractmethod
    def add(self, text: bytes) -> None:
        """Take a document."""

    @abc.abstractmethod
    def nats(self) -> float:
        """The total; call it last."""


class DomainModel(abc.ABC):
    """One figure for all the documents of a domain, joined, as `tar | xz` would give.

    It sees other documents, so its card has the scope "domain", and there are no figures per
    document.
    """

    info: ModelInfo
    likelihood: Likelihood = "compressed"
    window: Window | None = None
    scope: Scope = "domain"

    @abc.abstractmethod
    def begin(self) -> DomainScorer:
        """A scorer of one domain."""


@runtime_checkable
class TokenModel(Protocol):
    """What a user implements to score any causal model.

    `max_length` is how many tokens it sees at once; None for any number. A row has at most one id
    more, since the last is predicted and not seen.
    """

    tokenizer: Tokenizer
    max_length: int | None

    def log_probs(
        self, rows: Sequence[npt.NDArray[np.int32]]
    ) -> Sequence[npt.NDArray[np.floating[Any]]]:
        """For each row of n ids, n − 1 natural logarithms: of ids[1:], given all before."""
        ...
