"""The order of chunks: one for each seed, name and epoch; the short chunk last."""

from __future__ import annotations

import numpy as np

from barrow.stream.order.permutation import Permutation, derive, keys_of
from barrow.stream.order.shuffle import Shuffle

NAMES = ["a", "b", "c"]
FULL = [10, 0, 300]


def order(shuffle: Shuffle, domain: int, epoch: int, num: int) -> list[int]:
    ones = np.ones(num, np.int64)
    return shuffle.chunks(domain * ones, epoch * ones, np.arange(num)).tolist()


def test_full_chunks_are_permuted_and_the_short_one_is_last() -> None:
    shuffle = Shuffle(1, NAMES, FULL)
    for domain, full in enumerate(FULL):
        chunks = order(shuffle, domain, 0, full + 1)
        assert chunks[-1] == full
        assert sorted(chunks) == list(range(full + 1))


def test_it_is_the_permutation_of_the_key_of_seed_name_and_epoch() -> None:
    key = keys_of(np.array([derive("chunks", 1, "c")], np.uint64), np.array([5]))[0]
    expected = Permutation(300, int(key))(np.arange(300)).tolist()
    assert order(Shuffle(1, NAMES, FULL), 2, 5, 300) == expected


def test_the_order_depends_on_seed_name_and_epoch() -> None:
    shuffle = Shuffle(1, ["a", "b"], [300, 300])
    orders = [
        order(shuffle, 0, 0, 300),
        order(shuffle, 0, 1, 300),
        order(shuffle, 1, 0, 300),
        order(Shuffle(2, ["a", "b"], [300, 300]), 0, 0, 300),
    ]
    assert len({tuple(chunks) for chunks in orders}) == 4


def test_other_domains_do_not_matter() -> None:
    with_others = Shuffle(1, NAMES, FULL)
    alone = Shuffle(1, ["c"], [300])
    assert order(with_others, 2, 3, 300) == order(alone, 0, 3, 300)


def test_places_are_the_way_back() -> None:
    shuffle = Shuffle(9, NAMES, FULL)
    random = np.random.default_rng(0)
    domain = random.integers(0, 3, 200)
    epoch = random.integers(0, 1000, 200)
    place = random.integers(0, np.array(FULL)[domain] + 1)
    chunk = shuffle.chunks(domain, epoch, place)
    assert np.array_equal(shuffle.places(domain, epoch, chunk), place)
