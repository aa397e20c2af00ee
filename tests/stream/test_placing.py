from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from barrow.errors import MissingExtra
from barrow.stream import Mlm, Stream
from barrow.stream.placing import place_batch


def sharding(*spec: Any) -> NamedSharding:
    devices = np.array(jax.devices()[:8]).reshape(4, 2)
    return NamedSharding(Mesh(devices, ("data", "seq")), PartitionSpec(*spec))


SPECS = [(), ("data",), (("data", "seq"),), ("data", "seq"), (None, "seq"), ("seq", "data")]


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("packing", ["cut", "fit", "document"])
def test_sharded_equals_unsharded(
    stores: Callable, tmp_path: Path, spec: tuple[Any, ...], packing: Any
) -> None:
    """Any sharding of rows and columns holds the batch that NumPy has."""
    stream = Stream(
        stores([[12, 3, 30], [5, 0, 8]]),
        seq_len=8,
        batch=8,
        seed=1,
        packing=packing,
        buckets=(8,) if packing == "document" else None,
        cache=tmp_path,
    )
    placed = place_batch(stream, 2, sharding(*spec))
    whole = stream.batch(2).arrays()
    assert placed.keys() == whole.keys()
    for name, array in placed.items():
        assert array.sharding == sharding(*spec)
        assert array.dtype == whole[name].dtype
        assert (np.asarray(array) == whole[name]).all()


def test_only_what_devices_need_is_computed(
    stores: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part once, whatever number of devices hold it; never the whole."""
    stream = Stream(stores([[12, 3, 30], [5, 0, 8]]), seq_len=8, batch=8, seed=1)
    asked: list[tuple[slice, slice]] = []
    batch = Stream.batch

    def watched(self: Stream, step: int, *, rows: slice, columns: slice) -> Any:
        asked.append((rows, columns))
        return batch(self, step, rows=rows, columns=columns)

    monkeypatch.setattr(Stream, "batch", watched)
    place_batch(stream, 0, sharding("data"))
    assert asked.pop(0) == (slice(0, 0), None)  # for the shapes
    assert sorted((r.start, r.stop) for r, _ in asked) == [(0, 2), (2, 4), (4, 6), (6, 8)]
    assert {(c.start, c.stop) for _, c in asked} == {(0, 8)}
    asked.clear()
    place_batch(stream, 0, sharding("data", "seq"))
    del asked[0]
    assert len(asked) == 8
    assert {(r.stop - r.start, c.stop - c.start) for r, c in asked} == {(2, 4)}


def test_prefetched_on_the_mesh(stores: Callable) -> None:
    stream = Stream(stores([[12, 3, 30], [5, 0, 8]]), seq_len=8, batch=8, seed=1)
    spec = sharding("data", "seq")
    with stream.jax(spec, start=3, stop=6) as ahead:
        for step, placed in ahead:
            assert placed["tokens"].sharding == spec
            assert (np.asarray(placed["targets"]) == stream.batch(step).targets).all()
    assert step == 5
    with pytest.raises(ValueError, match="leave out rank and of"):
        stream.prefetch(0, place=spec, rank=0, of=2)


def test_in_a_compiled_step(stores: Callable) -> None:
    """A loss over sharded rows and columns is that of one device."""
    stream = Stream(stores([[12, 3, 30], [5, 0, 8]]), seq_len=8, batch=8, seed=1)

    @jax.jit
    def total(batch: dict[str, jax.Array]) -> jax.Array:
        return ((batch["tokens"] - batch["targets"]) ** 2 * batch["mask"]).sum()

    placed = place_batch(stream, 0, sharding("data", "seq"))
    assert int(total(placed)) == int(total(stream.batch(0).arrays()))


def test_without_jax(stores: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(stores([[12]]), seq_len=8, batch=8, seed=1, mlm=None)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtra, match=r"'.\[train\]"):
        place_batch(stream, 0, None)  # type: ignore[arg-type]


def test_mlm_on_the_mesh(token_store: Any) -> None:
    stream = Stream(token_store, seq_len=8, batch=8, seed=1, mlm=Mlm(whole_word=True))
    placed = place_batch(stream, 4, sharding("data", "seq"))
    assert (np.asarray(placed["tokens"]) == stream.batch(4).tokens).all()
