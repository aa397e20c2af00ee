from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from barrow.archive.ahead import available_cores, map_ahead


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order(threads: int) -> None:
    def slow_for_even(n: int) -> int:
        time.sleep(0.002 * (n % 2))
        return n * n

    assert list(map_ahead(slow_for_even, range(50), threads=threads)) == [n * n for n in range(50)]


@pytest.mark.parametrize("threads", [1, 3])
def test_items_are_not_all_fetched_at_once(threads: int) -> None:
    fetched = 0

    def items() -> Iterator[int]:
        nonlocal fetched
        for n in range(1000):
            fetched += 1
            yield n

    results = map_ahead(lambda n: n, items(), threads=threads)
    next(results)
    assert fetched <= threads + 2


def test_an_error_arrives_in_its_place_and_the_threads_end() -> None:
    before = threading.active_count()

    def fail_at_five(n: int) -> int:
        if n == 5:
            raise ValueError("five")
        return n

    results = map_ahead(fail_at_five, range(100), threads=4)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="five"):
        next(results)
    assert threading.active_count() == before


def test_leaving_early_ends_the_threads() -> None:
    before = threading.active_count()
    results = map_ahead(lambda n: n, range(100), threads=4)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_there_is_a_core() -> None:
    assert available_cores() >= 1
