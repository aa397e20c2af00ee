"""Whatever can be scored: the class that does it, and the small protocol that users write."""

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
    """What is known of a model.

    `kind` is "barrow", "transformers", "server", "baseline", "compressor" or "custom". `identity`
    is the sha256 that names the weights, or whatever else decides the numbers. `about` is its
    provenance: path, run, training manifest, versions; what JSON can hold.
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

    `tokens` are those charged: bytes for byte models, 0 for compressors. `byte_nats` are the nats
    of every token spread evenly over its raw bytes: one number for each byte of the text, which sum
    to `nats`; None where nothing is known but the total. `projection` says how tokens were laid on
    bytes: "bytes" where those of the tokens are those of the text, "offsets" or "document" where
    the tokenizer changes the text (see `score.projection`).
    """

    nats: float
    tokens: int
    byte_nats: npt.NDArray[np.float64] | None = None
    projection: Literal["bytes", "offsets", "document"] = "bytes"


class Model(abc.ABC):
    """Scores documents, each alone.

    `likelihood` and `window` go into the score card. `group_bytes` is how much text it is best
    given at a time: enough to sort documents by length, little enough to hold.
    """

    info: ModelInfo
    likelihood: Likelihood = "causal"
    window: Window | None = None
    scope: Scope = "document"
    group_bytes: int = 1 << 20

    @abc.abstractmethod
    def score(self, texts: Sequence[bytes]) -> list[TextScore]:
        """The scores of some documents, in their order; each is UTF-8, and may be empty."""


class DomainScorer(abc.ABC):
    """What takes the documents of one domain, one after another."""

    @abc.abstractmethod
    def add(self, text: bytes) -> None:
        """Take a document."""

    @abc.abstractmethod
    def nats(self) -> float:
        """Of all that was taken; nothing comes after it."""


class DomainModel(abc.ABC):
    """One figure for all the documents of a domain, joined, as `tar | xz` would give.

    It sees other documents, so its card has the scope "domain", and there are no numbers of single
    documents.
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
    """What a user writes to have any causal model scored.

    `max_length` is how many tokens it sees at once; None for any number. A row has at most one id
    more, since the last is guessed and not seen.
    """

    tokenizer: Tokenizer
    max_length: int | None

    def log_probs(
        self, rows: Sequence[npt.NDArray[np.int32]]
    ) -> Sequence[npt.NDArray[np.floating[Any]]]:
        """For each row of n ids, n − 1 natural logarithms: of ids[1:], given all before."""
        ...
