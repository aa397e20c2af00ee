"""Data of a kind that the package does not know: rows of numbers with a label."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from barrow.errors import ConfigError, StoreError
from barrow.stream import Order, Stream
from barrow.stream.order.order import Rows
from barrow.stream.part import Part
from barrow.stream.settings import OrderSettings


@dataclass(frozen=True)
class Labels:
    """A batch."""

    features: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"features": self.features, "labels": self.labels}


@dataclass(frozen=True)
class Sight:
    """A row of a step."""

    step: int
    row: int
    number: int


@dataclass(frozen=True, kw_only=True)
class TableSettings(OrderSettings):
    """A file of lines ``domain a b``; the label of a line is its number."""

    scale: float = 1.0

    def open(self, folder: Any) -> Table:
        lines = (Path(folder) / "table.txt").read_text().splitlines()
        return Table(self, Path(folder), tuple(lines))


@dataclass(frozen=True, eq=False)
class Table:
    """The lines, sorted by domain: order, source and collate of a stream."""

    settings: TableSettings
    folder: Path
    lines: tuple[str, ...]
    at_once: int = 64
    has_columns: bool = False

    @property
    def identity(self) -> dict[str, str]:
        return {"table": str(len(self.lines))}

    @cached_property
    def order(self) -> Order:
        names = [line.split()[0] for line in self.lines]
        sizes = {name: names.count(name) for name in dict.fromkeys(names)}
        return Order.of_items(self.settings.seed, self.settings.resolve(sizes), sizes)

    @property
    def source(self) -> Table:
        return self

    def width(self, seq_len: int, rows: Callable[[], Rows]) -> int:
        return 2

    def samples(self, rows: Rows) -> npt.NDArray[np.int64]:
        firsts = np.cumsum([0, *self.order.sizes.values()])
        return np.where(rows.domain < 0, -1, firsts[rows.domain] + rows.start)

    def collate(self, numbers: npt.NDArray[np.int64], part: Part) -> Labels:
        assert len(numbers) == len(part.rows)
        split = [self.lines[n].split()[1:] if n >= 0 else ("0", "0") for n in numbers.tolist()]
        features = np.array(split, np.float32).reshape(-1, 2) * self.settings.scale
        return Labels(features, numbers)

    def explain(self, numbers: npt.NDArray[np.int64], part: Part) -> list[Sight]:
        rows = zip(part.rows, numbers.tolist(), strict=True)
        return [Sight(part.step, row, n) for row, n in rows if n >= 0]

    def places(self, number: int) -> tuple[int, list[tuple[int, int]]]:
        domain = list(self.order.sizes).index(self.lines[number].split()[0])
        first = number - sum(list(self.order.sizes.values())[:domain])
        return domain, [(first, first + 1)]


SETTINGS = TableSettings(seed=5, batch=8, epochs={"x": 1.0, "y": 2.0}, scale=2.0)


@pytest.fixture
def stream(tmp_path: Path) -> Stream[Labels]:
    lines = [f"x {n} {n / 10}" for n in range(30)] + [f"y {n} 0" for n in range(7)]
    (tmp_path / "table.txt").write_text("\n".join(lines))
    return Stream(SETTINGS.open(tmp_path))


def test_every_row_comes_once_in_an_epoch(stream: Stream[Labels]) -> None:
    """The same order serves any source; what is missing at the end is padding."""
    assert stream.num_steps == 6
    assert stream.shape(0) == (8, 2)
    labels = np.concatenate([batch.labels for _, batch in stream.numpy()])
    assert sorted(labels.tolist()) == [-1] * 4 + list(range(30)) + sorted([*range(30, 37)] * 2)
    for _, batch in stream.numpy():
        real = (batch.labels >= 0) & (batch.labels < 30)
        assert np.array_equal(batch.features[real, 0], batch.labels[real] * 2)


def test_ranks_and_slices(stream: Stream[Labels]) -> None:
    for step, whole in stream.numpy():
        parts = [stream.batch(step, rank=r, of=4).labels for r in range(4)]
        assert np.concatenate(parts).tolist() == whole.labels.tolist()
        assert stream.batch(step, rows=slice(3, 5)).labels.tolist() == whole.labels[3:5].tolist()
    with pytest.raises(ValueError, match="a batch of Table has no columns"):
        stream.batch(0, columns=slice(0, 1))


def test_lineage(stream: Stream[Labels]) -> None:
    walked = {
        (step, row, n)
        for step, batch in stream.numpy()
        for row, n in enumerate(batch.labels.tolist())
    }
    seen = [one for step in range(6) for one in stream.explain(step)]
    assert {(s.step, s.row, s.number) for s in seen} == {w for w in walked if w[2] >= 0}
    assert stream.explain(2, row=3) == [s for s in seen if (s.step, s.row) == (2, 3)]


def test_views(stream: Stream[Labels]) -> None:
    mesh = Mesh(np.array(jax.devices()[:4]), ("data",))
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    with stream.jax(sharding) as placed, stream.prefetch(threads=2) as ahead:
        views = [
            [batch.arrays() for _, batch in ahead],
            [arrays for _, arrays in placed],
            list(stream.torch()),
            list(stream.tf().as_numpy_iterator()),
        ]
    for view in views:
        assert len(view) == 6
        for step, got in enumerate(view):
            for name, array in stream.batch(step).arrays().items():
                assert np.array_equal(np.asarray(got[name]), array)


def test_saved(stream: Stream[Labels], tmp_path: Path) -> None:
    """Code outside the package is imported only where it is trusted."""
    stream.save(tmp_path / "stream.json")
    with pytest.raises(ConfigError, match=f"--trust {__name__}"):
        Stream.load(tmp_path)
    loaded = Stream.load(tmp_path, trust=[__name__])
    copied = pickle.loads(pickle.dumps(stream))
    for other in (loaded, copied):
        assert other.settings == stream.settings
        assert np.array_equal(other.batch(4).features, stream.batch(4).features)
    (tmp_path / "table.txt").write_text("x 1 2")
    with pytest.raises(StoreError, match="saved with table 37, .* has 1") as error:
        Stream.load(tmp_path, trust=[__name__])
    assert error.value.reason == "other-table"
    with pytest.raises(TypeError, match="already has its settings; leave out seed"):
        Stream(stream.data, seed=1)  # type: ignore[call-overload]
