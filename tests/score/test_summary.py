from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from barrow.score.result import Documents
from barrow.score.summary import interval, row_of_totals, rows_of, weighted_mean


def documents(num: int = 200, seed: int = 0) -> Documents:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5000, num)
    return Documents(
        domains=("A", "B"),
        kinds=(),
        domain=rng.integers(0, 2, num).astype(np.int16),
        bytes=sizes,
        tokens=sizes // 3 + 1,
        nats=sizes * rng.uniform(0.4, 1.2, num),
        text=rng.integers(0, 256, (num, 16)).astype(np.uint8),
        kind_bytes=np.zeros((num, 0), np.int64),
        kind_nats=np.zeros((num, 0)),
    )


def test_totals_are_divided_not_quotients_averaged() -> None:
    """Mistake: a mean of per-document ratios."""
    held = documents()
    rows, overall = rows_of(held, np.ones(len(held)))
    assert [row.name for row in rows] == ["A", "B"]
    for number, row in enumerate(rows):
        own = held.domain == number
        nats, size = held.nats[own].sum(), held.bytes[own].sum()
        assert row.bpb == pytest.approx(nats / size / math.log(2), rel=1e-12)
        assert row.byte_perplexity == pytest.approx(2.0 ** (row.bpb or 0))
        assert row.token_perplexity == pytest.approx(math.exp(nats / held.tokens[own].sum()))
        assert row.tokens_per_byte == pytest.approx(held.tokens[own].sum() / size)
        assert row.seconds == row.documents == own.sum()
        assert row.low is not None
        assert row.bpb is not None
        assert row.high is not None
        assert row.low < row.bpb < row.high
    assert overall.nats == pytest.approx(held.nats.sum(), rel=1e-12)
    assert overall.documents == 200


def test_the_order_of_documents_changes_nothing() -> None:
    held = documents()
    order = np.random.default_rng(5).permutation(len(held))
    names = ("domain", "bytes", "tokens", "nats", "text", "kind_bytes", "kind_nats")
    moved = replace(held, **{name: getattr(held, name)[order] for name in names})
    assert rows_of(held, np.ones(200)) == rows_of(moved, np.ones(200))


def test_the_interval_is_that_of_a_plain_bootstrap() -> None:
    """Against loops, and against the normal approximation of the ratio's error."""
    held = documents(400)
    low, high = interval(held.nats, held.bytes)
    assert low is not None
    assert high is not None
    bpb = held.nats.sum() / held.bytes.sum() / math.log(2)
    residual = held.nats / math.log(2) - bpb * held.bytes
    error = math.sqrt((residual**2).sum()) / held.bytes.sum()
    assert low == pytest.approx(bpb - 1.96 * error, abs=0.3 * error)
    assert high == pytest.approx(bpb + 1.96 * error, abs=0.3 * error)


def test_parts_of_the_draws_are_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    from barrow.score import summary as module

    held = documents(50)
    whole = interval(held.nats, held.bytes)
    monkeypatch.setattr(module, "_DRAWS", 7 * 50)
    assert interval(held.nats, held.bytes) == whole


@pytest.mark.parametrize("sizes", [[], [5], [5, 0, 0]])
def test_one_document_has_no_interval(sizes: list[int]) -> None:
    array = np.array(sizes, np.int64)
    assert interval(array.astype(float), array) == (None, None)


def test_what_cannot_be_divided_is_none() -> None:
    facts: dict[str, Any] = {"documents": 3, "seconds": 0.0}
    row = row_of_totals("x", num_bytes=0, tokens=0, nats=0.0, **facts)
    assert (row.bpb, row.byte_perplexity, row.tokens_per_byte) == (None, None, None)
    row = row_of_totals("x", num_bytes=10, tokens=0, nats=5.0, **facts)
    assert row.token_perplexity is None
    assert row.bpb == pytest.approx(0.5 / math.log(2))
    assert row_of_totals("x", num_bytes=1, tokens=1, nats=1e5, **facts).token_perplexity is None


def test_the_weighted_mean_is_over_the_scored_domains() -> None:
    held = documents()
    rows, _ = rows_of(held, np.ones(200))
    found = weighted_mean(rows, {"A": 1.0, "B": 3.0, "not scored": 96.0})
    assert found.weights == {"A": 0.25, "B": 0.75}
    assert rows[0].bpb is not None
    assert rows[1].bpb is not None
    assert found.bpb == pytest.approx(0.25 * rows[0].bpb + 0.75 * rows[1].bpb)
    with pytest.raises(ValueError, match="no weight for 'B'; there are weights for A"):
        weighted_mean(rows, {"A": 1.0})
    with pytest.raises(ValueError, match="sum to 0"):
        weighted_mean(rows, {"A": 0.0, "B": 0.0})
