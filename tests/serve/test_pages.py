from __future__ import annotations

import pytest

from barrow.serve.pages import Pages, chain


def test_pages_are_given_once_and_come_back() -> None:
    pages = Pages(3)
    taken = [pages.take() for _ in range(4)]
    assert sorted(taken[:3]) == [0, 1, 2]
    assert taken[3] is None
    assert (pages.num_available, pages.num_used) == (0, 3)
    pages.release(1)
    assert pages.take() == 1
    with pytest.raises(ValueError, match="num must be ≥ 1, got 0"):
        Pages(0)


def test_a_registered_page_is_shared_and_outlives_its_user() -> None:
    pages = Pages(2)
    first = pages.take()
    assert first is not None
    pages.register(first, b"a")
    assert pages.share(b"a") == first
    pages.release(first)
    pages.release(first)
    assert pages.num_used == 0
    assert pages.share(b"a") == first
    assert pages.share(b"b") is None


def test_the_least_recently_used_goes_first() -> None:
    pages = Pages(2)
    for name in (b"a", b"b"):
        page = pages.take()
        assert page is not None
        pages.register(page, name)
        pages.release(page)
    again = pages.share(b"a")
    assert again is not None
    pages.release(again)
    assert pages.take() is not None
    assert pages.share(b"b") is None
    assert pages.share(b"a") == again


def test_the_first_page_of_a_name_keeps_it() -> None:
    pages = Pages(2)
    first, second = pages.take(), pages.take()
    assert first is not None
    assert second is not None
    pages.register(first, b"a")
    pages.register(second, b"a")
    assert pages.share(b"a") == first
    pages.check([2, 1] if first == 0 else [1, 2])


def test_a_name_has_all_tokens_before_it() -> None:
    start = chain(b"", [1, 2])
    assert chain(start, [3]) == chain(chain(b"", [1, 2]), [3])
    assert chain(start, [3]) != chain(chain(b"", [2, 2]), [3])
    assert chain(start, [3]) != chain(start, [4])
