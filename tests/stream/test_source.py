"""A source of another kind than tokens: labelled rows, as a classifier is trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from barrow.stream import Batches, Mixture, Order, constant
from barrow.stream.order import Rows
from barrow.stream.part import Part


@dataclass(frozen=True)
class Labelled:
    """Rows of some domains: features, and a label."""

    rows: tuple[tuple[tuple[list[float], int], ...], ...]

    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        return 1

    def samples(self, rows: Rows) -> list[tuple[list[float], int] | None]:
        pairs = zip(rows.domain.tolist(), rows.start.tolist(), strict=True)
        return [self.rows[d][n] if d >= 0 else None for d, n in pairs]


def collate(
    samples: list[tuple[list[float], int] | None], part: Part
) -> tuple[np.ndarray, np.ndarray]:
    assert len(samples) == len(part.rows)
    features = [[0.0, 0.0] if s is None else s[0] for s in samples]
    return np.array(features), np.array([-1 if s is None else s[1] for s in samples])


def batches(at_once: int) -> Batches:
    rows = tuple(
        tuple(([d, n / 10], d * 100 + n) for n in range(size)) for d, size in enumerate((30, 7))
    )
    schedule = constant(seq_len=1, batch=8, mixture=Mixture(epochs={"x": 1.0, "y": 2.0}))
    order = Order.of_items(5, schedule, {"x": 30, "y": 7})
    return Batches(order, Labelled(rows), collate, at_once=at_once)


@pytest.mark.parametrize("at_once", [1, 64])
def test_labelled_rows(at_once: int) -> None:
    """The same order serves any source: each row once per epoch, padded at the end."""
    made = batches(at_once)
    assert made.num_steps == 6
    assert made.shape(0) == (8, 1)
    whole = [made.batch(step) for step in range(6)]
    labels = np.concatenate([label for _, label in whole])
    assert sorted(labels.tolist()) == [-1] * 4 + list(range(30)) + sorted([*range(100, 107)] * 2)
    for features, label in whole:
        real = label >= 0
        assert (features[real, 0] == label[real] // 100).all()
        assert np.allclose(features[real, 1], label[real] % 100 / 10)


@pytest.mark.parametrize("at_once", [1, 64])
def test_ranks(at_once: int) -> None:
    made = batches(at_once)
    for step in range(6):
        parts = [made.batch(step, rank=r, of=4)[1] for r in range(4)]
        assert np.concatenate(parts).tolist() == made.batch(step)[1].tolist()
        assert made.batch(step, rows=slice(3, 5))[1].tolist() == made.batch(step)[1][3:5].tolist()
