"""Two results on the same documents: where one model is worse, and with what confidence."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from barrow.errors import NotFound, ScoreError
from barrow.score.card import Card, comparable
from barrow.score.paired_bootstrap import RESAMPLES, SEED, paired_bootstrap
from barrow.score.result import Documents, Result, documents_path, read_documents, read_result
from barrow.score.standing import LEVEL, document_order, standings

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

    @property
    def better(self) -> str | None:
        """The model that needs fewer bits, "A" or "B"; None if `p` > 0.05."""
        if self.p is None or self.p > LEVEL or not self.difference:
            return None
        return "A" if self.difference < 0 else "B"


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
    order_a, order_b = document_order(a.documents), document_order(b.documents)
    _check_pairs(a, b, a.documents, b.documents, order_a, order_b)
    first, second, sizes = (
        a.documents.nats[order_a],
        b.documents.nats[order_b],
        a.documents.bytes[order_a],
    )
    total = math.fsum((first - second).tolist())
    beside = standings([a, b], resamples=resamples, seed=seed)

    def differ(name: str, chosen: npt.NDArray[np.bool_], standing: str | None) -> Difference:
        found = beside[standing]
        spread = [float(part[0, 1]) for part in (found.low, found.high, found.p)]
        return _difference(name, first[chosen], second[chosen], sizes[chosen], spread, total)

    domains = a.documents.domain[order_a]
    parts = [
        differ(name, domains == number, name)
        for name, number in sorted((name, k) for k, name in enumerate(a.documents.domains))
        if (domains == number).any()
    ]
    kinds: list[Difference] = []
    by_kind = a.documents.kind_nats[order_a], b.documents.kind_nats[order_b]
    if a.documents.kinds == b.documents.kinds and not any(np.isnan(k).any() for k in by_kind):
        of_sizes = a.documents.kind_bytes[order_a]
        spreads = paired_bootstrap(
            np.stack(by_kind, axis=1), of_sizes, resamples=resamples, seed=seed
        )
        for k, name in enumerate(a.documents.kinds):
            low, high, p = (float(part[0, 1, k]) for part in spreads)
            spread = [low / _LN2, high / _LN2, p]
            columns = (by_kind[0][:, k], by_kind[1][:, k], of_sizes[:, k])
            kinds.append(_difference(name, *columns, spread, total))
    return Comparison(
        first=a.model.name,
        second=b.model.name,
        first_card=a.card.hash,
        second_card=b.card.hash,
        note=_note(a.card, b.card),
        overall=differ("overall", np.ones(len(sizes), np.bool_), None),
        domains=tuple(parts),
        kinds=tuple(kinds),
        worst=_worst(a.documents, order_a, first, second, num_worst),
        resamples=resamples,
        seed=seed,
    )


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
    spread: Sequence[float],
    total: float,
) -> Difference:
    num_bytes = int(sizes.sum())
    scale = num_bytes * _LN2
    of_first, of_second = math.fsum(first.tolist()), math.fsum(second.tolist())
    lost = math.fsum((first - second).tolist())
    low, high, p = (None if math.isnan(value) else value for value in spread)
    return Difference(
        name=name,
        documents=int(np.count_nonzero(sizes)),
        bytes=num_bytes,
        first=of_first / scale if num_bytes else None,
        second=of_second / scale if num_bytes else None,
        difference=lost / scale if num_bytes else None,
        share=lost / total if total else None,
        low=low,
        high=high,
        p=p,
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
