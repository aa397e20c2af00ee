"""Two results on the same documents: where one model is worse, and with what confidence."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from barrow.errors import NotFound, ScoreError
from barrow.score.card import Card, comparable
from barrow.score.paired_bootstrap import RESAMPLES, SEED, Spread, paired_bootstrap
from barrow.score.result import Documents, Result, documents_path, read_documents, read_result

_LN2 = math.log(2)


@dataclass(frozen=True)
class Difference:
    """A domain, a kind of text, or all: bits per byte of both, and the first less the second.

    `share` is its part of the whole difference, in bits; above 1 or below 0 if other parts have the
    opposite sign. `low`, `high` and `p` are those of `paired_bootstrap`, None where fewer than two
    documents have such text.
    """

    name: str
    documents: int
    bytes: int
    first: float | None
    second: float | None
    difference: float | None
    share: float | None
    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True)
class WorstDocument:
    """A document by its place in the first result, and the bits that the first model is worse by.

    `text` are the first 16 bytes of the text's sha256, in hexadecimal.
    """

    number: int
    domain: str
    text: str
    bytes: int
    first: float
    second: float
    lost_bits: float


@dataclass(frozen=True)
class Comparison:
    """`note` describes how comparable cards differ."""

    first: str
    second: str
    first_card: str
    second_card: str
    note: str | None
    overall: Difference
    domains: tuple[Difference, ...]
    kinds: tuple[Difference, ...]
    worst: tuple[WorstDocument, ...]
    resamples: int
    seed: int


def read_scored(path: str | os.PathLike[str]) -> Result:
    """A result and its documents."""
    result = read_result(path)
    if result.card.scope == "document":
        if not documents_path(path).exists():
            raise NotFound(f"{documents_path(path)} does not exist; it is written beside {path}")
        return replace(result, documents=read_documents(path, result))
    return result


def compare(
    a: Result, b: Result, *, num_worst: int = 5, resamples: int = RESAMPLES, seed: int = SEED
) -> Comparison:
    """How much worse the first model is than the second; raises if their cards do not allow it."""
    reason = comparable(a.card, b.card)
    if reason is not None:
        raise ScoreError(f"{a.model.name} and {b.model.name} cannot be compared: {reason}")
    for result in (a, b):
        if result.documents is None:
            raise ScoreError(f"{result.model.name} has no figures per document to pair")
    assert a.documents is not None and b.documents is not None  # noqa: PT018
    order_a, order_b = _order(a.documents), _order(b.documents)
    _check_pairs(a, b, a.documents, b.documents, order_a, order_b)
    first, second, sizes = (
        a.documents.nats[order_a],
        b.documents.nats[order_b],
        a.documents.bytes[order_a],
    )
    total = math.fsum((first - second).tolist())

    def differ(
        names: tuple[str, ...],
        of_first: npt.NDArray[np.float64],
        of_second: npt.NDArray[np.float64],
        of_sizes: npt.NDArray[np.int64],
    ) -> tuple[Difference, ...]:
        spreads = paired_bootstrap(of_first - of_second, of_sizes, resamples=resamples, seed=seed)
        columns = (of_first.T, of_second.T, of_sizes.T)
        return tuple(
            _difference(name, one, other, size, spread, total)
            for name, one, other, size, spread in zip(names, *columns, spreads, strict=True)
        )

    column = (first[:, None], second[:, None], sizes[:, None])
    domains = a.documents.domain[order_a]
    parts: list[Difference] = []
    for name, number in sorted((name, k) for k, name in enumerate(a.documents.domains)):
        chosen = domains == number
        if chosen.any():
            parts += differ((name,), *(array[chosen] for array in column))
    kinds: tuple[Difference, ...] = ()
    by_kind = a.documents.kind_nats[order_a], b.documents.kind_nats[order_b]
    if a.documents.kinds == b.documents.kinds and not any(np.isnan(k).any() for k in by_kind):
        kinds = differ(a.documents.kinds, *by_kind, a.documents.kind_bytes[order_a])
    return Comparison(
        first=a.model.name,
        second=b.model.name,
        first_card=a.card.hash,
        second_card=b.card.hash,
        note=_note(a.card, b.card),
        overall=differ(("overall",), *column)[0],
        domains=tuple(parts),
        kinds=kinds,
        worst=_worst(a.documents, order_a, first, second, num_worst),
        resamples=resamples,
        seed=seed,
    )


def _order(documents: Documents) -> npt.NDArray[np.int64]:
    """Documents by domain, text and place: the same for any order of a corpus."""
    names = np.array(documents.domains, object)
    rank = np.empty(len(names), np.int64)
    rank[np.argsort(names, kind="stable")] = np.arange(len(names))
    return np.lexsort((*documents.text.T[::-1], rank[documents.domain]))


def _check_pairs(
    a: Result,
    b: Result,
    of_a: Documents,
    of_b: Documents,
    order_a: npt.NDArray[np.int64],
    order_b: npt.NDArray[np.int64],
) -> None:
    """Raise unless the documents are the same, as the cards claim."""
    same = len(of_a) == len(of_b) and (
        np.array_equal(of_a.text[order_a], of_b.text[order_b])
        and np.array_equal(of_a.bytes[order_a], of_b.bytes[order_b])
    )
    if not same:
        raise ScoreError(
            f"the documents of {a.model.name} and {b.model.name} differ, although their "
            "cards are the same: the files beside the results were changed"
        )


def _difference(
    name: str,
    first: npt.NDArray[np.float64],
    second: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.int64],
    spread: Spread | None,
    total: float,
) -> Difference:
    num_bytes = int(sizes.sum())
    scale = num_bytes * _LN2
    of_first, of_second = math.fsum(first.tolist()), math.fsum(second.tolist())
    lost = math.fsum((first - second).tolist())
    return Difference(
        name=name,
        documents=int(np.count_nonzero(sizes)),
        bytes=num_bytes,
        first=of_first / scale if num_bytes else None,
        second=of_second / scale if num_bytes else None,
        difference=lost / scale if num_bytes else None,
        share=lost / total if total else None,
        low=None if spread is None else spread.low / _LN2,
        high=None if spread is None else spread.high / _LN2,
        p=None if spread is None else spread.p,
    )


def _worst(
    documents: Documents,
    order: npt.NDArray[np.int64],
    first: npt.NDArray[np.float64],
    second: npt.NDArray[np.float64],
    number: int,
) -> tuple[WorstDocument, ...]:
    lost = first - second
    found = []
    for row in np.argsort(-lost, kind="stable")[:number].tolist():
        place = int(order[row])
        size = int(documents.bytes[place])
        if lost[row] <= 0 or not size:
            break
        found.append(
            WorstDocument(
                number=place,
                domain=documents.domains[int(documents.domain[place])],
                text=documents.text[place].tobytes().hex(),
                bytes=size,
                first=float(first[row]) / (size * _LN2),
                second=float(second[row]) / (size * _LN2),
                lost_bits=float(lost[row]) / _LN2,
            )
        )
    return tuple(found)


def _note(a: Card, b: Card) -> str | None:
    """How two comparable cards differ."""
    if a.hash == b.hash:
        return None
    lines = [
        f"{name} is {card.likelihood}, {card.window or 'sees the whole document so far'}"
        for name, card in (("A", a), ("B", b))
    ]
    return "; ".join(lines)
