"""A conformance check: a claim about a scorer, and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol as Interface

from barrow.archive import Document
from barrow.score.models.model import Model, ModelInfo, TokenModel
from barrow.score.models.windowed import WindowedModel
from barrow.score.protocol import Protocol
from barrow.score.result import Documents, Result
from barrow.score.scoring import score

_INFO = ModelInfo("self-test", "custom", "self-test")


class Scorer(Interface):
    """From a model, a protocol and documents to a result: the whole of scoring as one function.

    Checks take one as argument, so a scorer with a planted mistake can replace ours. `group_bytes`
    is how much text is scored at a time.
    """

    def __call__(
        self,
        model: TokenModel,
        protocol: Protocol,
        documents: Sequence[Document],
        *,
        group_bytes: int = Model.group_bytes,
    ) -> Result: ...


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and its numbers."""

    passed: bool
    numbers: str


@dataclass(frozen=True)
class Check:
    """A claim about scorers, and the function that tries it on one."""

    name: str
    claim: str
    run: Callable[[Scorer], Verdict]


def barrow_scorer(
    model: TokenModel,
    protocol: Protocol,
    documents: Sequence[Document],
    *,
    group_bytes: int = Model.group_bytes,
) -> Result:
    """The `Scorer` of `barrow score`."""
    result = score(WindowedModel(model, protocol, _INFO, group_bytes=group_bytes), documents)
    assert result is not None
    return result


def verdict(check: Check, scorer: Scorer) -> Verdict:
    """The verdict of a check; a scorer that raises an error has not passed."""
    try:
        return check.run(scorer)
    except Exception as error:  # noqa: BLE001 - a mistake may end in any
        return Verdict(False, f"{type(error).__name__}: {error}")


def documents_of(texts: Iterable[str]) -> list[Document]:
    """Documents of two domains in turn."""
    return [Document(text, {"pile_set_name": "AB"[i % 2]}) for i, text in enumerate(texts)]


def rows(result: Result) -> Documents:
    """The figures per document."""
    assert result.documents is not None
    return result.documents


def far(found: float, expected: float) -> float:
    """How far one number is from another, relative to 1 or the larger."""
    return abs(found - expected) / max(1.0, abs(expected))
