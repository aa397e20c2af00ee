from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.dedup.numbering import save_arrays
from barrow.corpus.dedup.passages.buckets import (
    NUM_BUCKETS,
    bucket_bounds,
    load_buckets,
    load_slice,
    share_out,
)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=50))
def test_buckets_are_ranges_of_hashes(values: list[int]) -> None:
    hashes = np.sort(np.array(values, np.uint64))
    bounds = bucket_bounds(hashes)
    assert (bounds[0], bounds[-1]) == (0, len(values))
    for at, value in enumerate(hashes.tolist()):
        bucket = value * NUM_BUCKETS >> 64
        assert bounds[bucket] <= at < bounds[bucket + 1]


def test_ranges_hold_about_as_much_and_cover_all(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    hashes = np.sort(rng.integers(0, 1 << 63, 10_000, np.uint64) * np.uint64(2))
    save_arrays(tmp_path / "a", hashes=hashes, bounds=bucket_bounds(hashes))
    ranges = share_out([tmp_path / "a"], 3_000)
    assert (ranges[0][0], ranges[-1][1]) == (0, NUM_BUCKETS)
    assert [start for start, _ in ranges[1:]] == [stop for _, stop in ranges[:-1]]
    found = [load_buckets(tmp_path / "a", each, ("hashes",))[1]["hashes"] for each in ranges]
    assert max(map(len, found)) < 3_300
    assert np.concatenate(found).tolist() == hashes.tolist()


def test_slices_of_nothing(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a", x=np.arange(3), nothing=np.empty(0, np.int64))
    assert load_slice(tmp_path / "a", "x", 1).tolist() == [1, 2]
    assert load_slice(tmp_path / "a", "x", 2, 2).tolist() == []
    assert load_slice(tmp_path / "a", "nothing").tolist() == []
