"""SPEC CLIP-12: batches of pairs as a function of (seed, step)."""

from __future__ import annotations

import pickle
from collections import Counter

import jax
import numpy as np
import pytest
from PIL import Image
from tests.stream.pairs.conftest import captions, pixels, said, same, stream_of

from barrow.errors import ConfigError
from barrow.images import centre_square
from barrow.stream import Mixture
from barrow.stream.pairs import (
    PairIndex,
)


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
    numbers = stream.pairs(2).tolist()
    read: list[int] = []
    whole = PairIndex.read
    monkeypatch.setattr(PairIndex, "read", lambda self, n: (read.append(n), whole(self, n))[1])
    stream.batch(2, rows=slice(1, 4))
    assert sorted(read) == sorted(numbers[1:4])


def test_each_epoch_has_every_pair_once_in_another_order(index: PairIndex) -> None:
    stream = stream_of(index, batch=10, mixture=Mixture(epochs={"one": 2.0, "two": 2.0}))
    assert stream.num_steps == 4
    seen = np.concatenate([stream.pairs(step) for step in range(4)])
    assert Counter(seen.tolist()) == Counter(list(range(20)) * 2)
    assert seen[:20].tolist() != seen[20:].tolist()
    other = stream_of(index, batch=10, seed=4)
    assert other.pairs(0).tolist() != stream.pairs(0).tolist()


def test_a_last_partial_batch_is_padded(index: PairIndex) -> None:
    stream = stream_of(index, batch=8, mixture=Mixture(epochs={"two": 1.0}))
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
    stream = stream_of(index, batch=8, mixture=Mixture(weights={"one": 3.0, "two": 1.0}))
    for step in range(6):
        assert int((stream.pairs(step) >= 14).sum()) == 2
    with pytest.raises(ConfigError, match="names 'ones'; did you mean 'one'"):
        stream_of(index, mixture=Mixture(weights={"ones": 1.0}))


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
    with pytest.raises(ValueError, match="steps count from 0"):
        stream.prefetch(-1)
    with pytest.raises(ValueError, match="leave out rank and of"):
        stream.prefetch(0, place=jax.devices()[0], rank=0, of=2)  # type: ignore[arg-type]
