"""From documents to the figures of domains: totals, intervals, weighted means.

Totals come first and quotients last. A mean of documents' or batches' bits per byte would give a
short document the weight of a long one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from barrow.score.result import Documents, Row, Weighted

RESAMPLES = 1000
SEED = 0
# Draws made at a time, to bound memory.
_DRAWS = 1 << 22
_LN2 = math.log(2)


def rows_of(documents: Documents, seconds: npt.NDArray[np.float64]) -> tuple[tuple[Row, ...], Row]:
    """A row for each domain, by name, and one for all documents; `seconds` of each document."""
    rows = []
    for number in sorted(range(len(documents.domains)), key=lambda i: documents.domains[i]):
        chosen = documents.domain == number
        if chosen.any():
            rows.append(_row(documents.domains[number], documents, seconds, chosen))
    return tuple(rows), _row("overall", documents, seconds, np.ones(len(documents), np.bool_))


def row_of_totals(
    name: str, *, documents: int, num_bytes: int, tokens: int, nats: float, seconds: float
) -> Row:
    """The figures of totals only, without an interval."""
    bpb = nats / (num_bytes * _LN2) if num_bytes else None
    return Row(
        name=name,
        documents=documents,
        bytes=num_bytes,
        tokens=tokens,
        nats=nats,
        bpb=bpb,
        low=None,
        high=None,
        tokens_per_byte=tokens / num_bytes if num_bytes and tokens else None,
        token_perplexity=_exp(nats / tokens) if tokens else None,
        byte_perplexity=_exp(nats / num_bytes) if num_bytes else None,
        seconds=seconds,
    )


def _row(
    name: str,
    documents: Documents,
    seconds: npt.NDArray[np.float64],
    chosen: npt.NDArray[np.bool_],
) -> Row:
    nats, sizes = documents.nats[chosen], documents.bytes[chosen]
    # In an order that does not depend on that of the corpus, so neither do the last digits.
    order = np.lexsort((nats, *documents.text[chosen].T))
    row = row_of_totals(
        name,
        documents=int(chosen.sum()),
        num_bytes=int(sizes.sum()),
        tokens=int(documents.tokens[chosen].sum()),
        nats=math.fsum(nats.tolist()),
        seconds=float(seconds[chosen].sum()),
    )
    low, high = interval(nats[order], sizes[order])
    return replace(row, low=low, high=high)


def interval(
    nats: npt.NDArray[np.float64], sizes: npt.NDArray[np.int64]
) -> tuple[float | None, float | None]:
    """Bounds of the bits per byte with 95 %: documents drawn with replacement, totals divided.

    Documents are the unit, for bytes of one document resemble each other. The seed is fixed. None
    where fewer than two documents have text.
    """
    num = len(nats)
    if np.count_nonzero(sizes) < 2:
        return None, None
    rng = np.random.default_rng(SEED)
    found = []
    step = max(1, _DRAWS // num)
    for start in range(0, RESAMPLES, step):
        drawn = rng.integers(0, num, (min(step, RESAMPLES - start), num))
        total = sizes[drawn].sum(axis=1)
        found.append(np.where(total > 0, nats[drawn].sum(axis=1) / np.maximum(total, 1), np.nan))
    low, high = np.nanquantile(np.concatenate(found), (0.025, 0.975)) / _LN2
    return float(low), float(high)


def check_weights(domains: AbstractSet[str], weights: Mapping[str, float]) -> None:
    """Raise `ValueError` unless there is a weight for every domain, and not all are 0."""
    missing = sorted(domains - weights.keys())
    if missing:
        raise ValueError(
            f"no weight for {missing[0]!r}; there are weights for {', '.join(sorted(weights))}"
        )
    if domains and not sum(weights[name] for name in domains) > 0:
        raise ValueError("the weights of the scored domains sum to 0")


def weighted_mean(rows: tuple[Row, ...], weights: Mapping[str, float]) -> Weighted:
    """The mean of the domains' bits per byte by weights, those of the domains that were scored."""
    counted = [row for row in rows if row.bpb is not None]
    check_weights({row.name for row in counted}, weights)
    total = sum(weights[row.name] for row in counted)
    shares = {row.name: weights[row.name] / total for row in counted}
    return Weighted(sum(shares[row.name] * (row.bpb or 0.0) for row in counted), shares)


def _exp(nats: float) -> float | None:
    """A perplexity; None if it overflows."""
    return math.exp(nats) if nats < 700 else None
