"""CLIP-12: batches of pairs as a function of (seed, step)."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from PIL import Image
from tests.stream.pairs.conftest import Words, captions, pixels, said, same, stream_of

from barrow.errors import ConfigError, StoreError
from barrow.images import centre_square
from barrow.stream import Mixture, Phase, Stream
from barrow.stream.pairs import PairIndex, index_pairs


def test_a_batch_is_its_pairs(index: PairIndex) -> None:
    stream = stream_of(index, crop="centre")
    for step in range(5):
        batch = stream.batch(step)
        assert batch.images.dtype == np.uint8
        assert batch.mask.all()
        assert batch.num_pairs == 6
        for row, pair in enumerate(batch.pairs.tolist()):
            expected = centre_square(Image.fromarray(pixels(pair)), resolution=8)
            assert (batch.images[row] == expected).all()
            assert said(batch.texts[row]) == captions(pair)[batch.captions[row]]


def test_every_slice_is_that_of_the_whole(index: PairIndex) -> None:
    stream = stream_of(index, min_area=0.3, templates=("a {}", "the {}"))
    whole = stream.batch(4)
    for first in range(6):
        for last in range(first, 7):
            part = stream.batch(4, rows=slice(first, last))
            for name in ("images", "texts", "mask", "pairs", "captions"):
                assert np.array_equal(getattr(part, name), getattr(whole, name)[first:last])
    ranks = [stream.batch(4, rank=rank, of=3) for rank in range(3)]
    assert np.array_equal(np.concatenate([part.images for part in ranks]), whole.images)


def test_a_slice_reads_only_its_images(index: PairIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = stream_of(index)
    numbers = stream.samples(2).tolist()
    read: list[int] = []
    whole = PairIndex.read
    monkeypatch.setattr(PairIndex, "read", lambda self, n: (read.append(n), whole(self, n))[1])
    stream.batch(2, rows=slice(1, 4))
    assert sorted(read) == sorted(numbers[1:4])


def test_each_epoch_has_every_pair_once_in_another_order(index: PairIndex) -> None:
    stream = stream_of(index, batch=10, epochs={"one": 2.0, "two": 2.0})
    assert stream.num_steps == 4
    seen = np.concatenate([stream.samples(step) for step in range(4)])
    assert Counter(seen.tolist()) == Counter(list(range(20)) * 2)
    assert seen[:20].tolist() != seen[20:].tolist()
    other = stream_of(index, batch=10, seed=4)
    assert other.samples(0).tolist() != stream.samples(0).tolist()


def test_a_last_partial_batch_is_padded(index: PairIndex) -> None:
    stream = stream_of(index, batch=8, epochs={"two": 1.0})
    assert stream.num_steps == 1
    batch = stream.batch(0)
    assert batch.mask.tolist() == [True] * 6 + [False] * 2
    assert batch.num_pairs == 6
    assert sorted(batch.pairs.tolist()) == [-1, -1, *range(14, 20)]
    assert not batch.images[6:].any()
    assert not batch.texts[6:].any()
    assert batch.captions[6:].tolist() == [-1, -1]
    with pytest.raises(ValueError, match="past the end"):
        stream.batch(1)


def test_mixtures_are_by_source(index: PairIndex) -> None:
    stream = stream_of(index, batch=8, weights={"one": 3.0, "two": 1.0})
    for step in range(6):
        assert int((stream.samples(step) >= 14).sum()) == 2
    with pytest.raises(ConfigError, match="names 'ones'; did you mean 'one'"):
        stream_of(index, weights={"ones": 1.0})


def test_random_crops_differ_by_epoch_and_stay_within(index: PairIndex) -> None:
    stream = stream_of(index, batch=20, min_area=0.3)
    first, second = stream.batch(0), stream.batch(1)
    by_pair = [dict(zip(b.pairs.tolist(), b.images, strict=True)) for b in (first, second)]
    assert sorted(by_pair[0]) == sorted(by_pair[1]) == list(range(20))
    assert sum(np.array_equal(by_pair[0][n], by_pair[1][n]) for n in range(20)) == 0


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_and_processes_change_nothing(index: PairIndex, threads: int) -> None:
    stream = stream_of(index, min_area=0.5)
    again = pickle.loads(pickle.dumps(stream_of(index, min_area=0.5, threads=threads)))
    assert same(stream.batch(7), again.batch(7))


def test_going_on_from_a_step(index: PairIndex) -> None:
    stream = stream_of(index)
    with stream.prefetch(0, 6) as batches:
        whole = dict(batches)
    with stream.prefetch(4, 6, threads=2) as batches:
        rest = dict(batches)
    assert list(rest) == [4, 5]
    assert all(same(rest[step], whole[step]) for step in rest)
    assert [step for step, _ in stream.numpy(2, 4)] == [2, 3]
    with pytest.raises(ValueError, match="start must be ≥ 0"):
        stream.prefetch(-1)
    with pytest.raises(ValueError, match="leave out rank and of"):
        stream.prefetch(0, place=jax.devices()[0], rank=0, of=2)  # type: ignore[arg-type]


def test_explained(index: PairIndex) -> None:
    stream = stream_of(index, batch=8, epochs={"two": 1.0})
    seen = stream.explain(0)
    batch = stream.batch(0)
    assert [one.pair for one in seen] == batch.pairs[:6].tolist()
    assert [one.text for one in seen] == [said(row) for row in batch.texts[:6]]
    assert stream.explain(0, row=2) == [seen[2]]
    assert str(seen[0]) == f"row 0: two, {seen[0].name}, {seen[0].text!r}"
    with pytest.raises(ValueError, match="row must be from 0 to 7 at step 0, got 8"):
        stream.explain(0, row=8)
    assert stream.steps_of(seen[3].pair) == [seen[3]]


def test_which_steps_saw_a_pair(index: PairIndex) -> None:
    """As walking through all batches finds them."""
    stream = stream_of(index, batch=7, epochs={"one": 2.0, "two": 2.5})
    walked = {
        (step, row, pair)
        for step, batch in stream.numpy()
        for row, pair in enumerate(batch.pairs.tolist())
        if pair >= 0
    }
    found = {(s.step, s.row, s.pair) for pair in range(20) for s in stream.steps_of(pair)}
    assert found == walked
    assert len(stream.steps_of(3, until=4)) <= len(stream.steps_of(3)) == 2


def test_on_a_mesh(index: PairIndex) -> None:
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "fsdp"))
    stream = stream_of(index, batch=16)
    for spec in (PartitionSpec(("data", "fsdp")), PartitionSpec("data"), PartitionSpec()):
        sharding = NamedSharding(mesh, spec)
        with stream.prefetch(1, 2, place=sharding) as batches:
            ((_, placed),) = batches
        whole = stream.batch(1).arrays()
        assert sorted(placed) == ["images", "mask", "texts"]
        for name, array in placed.items():
            assert array.sharding == sharding
            assert np.array_equal(np.asarray(array), whole[name])


def test_items_of_each_source_are_its_pairs(index: PairIndex) -> None:
    """Sources follow one another in the index; what is past the end is −1."""
    stream = stream_of(index, batch=20)
    pairs = stream.samples(0)
    assert pairs.dtype == np.int64
    assert sorted(pairs.tolist()) == list(range(20))
    assert stream.shape(0) == (20, 24)


def test_saved_and_loaded(index: PairIndex, tmp_path: Path) -> None:
    stream = stream_of(index, min_area=0.5, templates=("a {}",), background=(1, 2, 3))
    stream.save(tmp_path / "stream.json")
    again = Stream.load(tmp_path, texts=Words())
    assert again.settings == stream.settings
    assert same(again.batch(3), stream.batch(3))
    other = Words()
    other.hash = "others"
    with pytest.raises(StoreError, match="saved with tokenizer words, .* has others") as error:
        Stream.load(tmp_path, texts=other)
    assert error.value.reason == "other-tokenizer"


def test_another_index_is_refused(index: PairIndex, make: Callable, tmp_path: Path) -> None:
    stream_of(index).save(tmp_path / "s.json")
    other = index_pairs(make("folder", "three"), tmp_path / "index 3")
    with pytest.raises(StoreError, match="every batch would change") as error:
        Stream.load(tmp_path / "s.json", other, texts=Words())
    assert error.value.reason == "other-index"


def test_phases(index: PairIndex) -> None:
    """A schedule holds for pairs as for tokens."""
    stream = stream_of(index).then(Phase(3, 1, 4, Mixture(weights={"two": 1.0})))
    assert [stream.shape(step)[0] for step in (2, 3)] == [6, 4]
    assert (stream.batch(3).pairs >= 14).all()
    assert same(stream.batch(2), stream_of(index).batch(2))


def test_other_frameworks(index: PairIndex) -> None:
    """Views of pairs are those of tokens: the arrays of a batch by name."""
    stream = stream_of(index, batch=8, epochs={"two": 2.0})
    views = (stream.torch(), stream.tf().as_numpy_iterator())
    for view in views:
        got = list(view)
        assert [int(item["step"]) for item in got] == [0, 1]
        for item in got:
            for name, array in stream.batch(int(item["step"])).arrays().items():
                assert np.array_equal(np.asarray(item[name]), array)
                assert np.asarray(item[name]).dtype == array.dtype
    with pytest.raises(ValueError, match="a batch of Pairs has no columns; pass rows"):
        stream.batch(0, columns=slice(0, 1))
