from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barrow.tokens.store.pieces import Piece, plan_shards

SIZES = st.lists(st.integers(0, 60), max_size=80)


def pieces(sizes: list[int], first: int = 0) -> list[tuple[Piece, int]]:
    return [(Piece("f" * 32, first + k, 0, "A", 1, size, size), k) for k, size in enumerate(sizes)]


def plan(items: list[tuple[Piece, int]]) -> list[list[tuple[Piece, int]]]:
    return [list(shard) for shard in plan_shards(items, shard_bytes=200, itemsize=2)]


def size_of(shard: list[tuple[Piece, int]]) -> int:
    return sum(2 * piece.tokens for piece, _ in shard)


@given(SIZES)
def test_every_piece_is_in_one_shard_in_order(sizes: list[int]) -> None:
    items = pieces(sizes)
    shards = plan(items)
    assert [one for shard in shards for one in shard] == items
    for shard in shards[:-1]:
        assert size_of(shard) >= 100
    for shard in shards:
        assert size_of(shard[:-1]) < 200


@given(SIZES, SIZES)
def test_what_is_added_leaves_full_shards_as_they_were(before: list[int], more: list[int]) -> None:
    old, new = plan(pieces(before)), plan(pieces([*before, *more]))
    assert new[: max(0, len(old) - 1)] == old[:-1]


def test_boundaries_fall_together_again_after_a_change() -> None:
    """BEYOND-3: a takedown rewrites the shards concerned, not all that follow."""
    items = pieces([10 + k % 7 for k in range(2000)])
    old = {tuple(piece.key for piece, _ in shard) for shard in plan(items)}
    for removed in (0, 500, 1000):
        new = [
            tuple(piece.key for piece, _ in shard)
            for shard in plan(items[:removed] + items[removed + 1 :])
        ]
        assert len([shard for shard in new if shard not in old]) <= 12
    assert len(old) > 100


def test_a_piece_larger_than_a_shard_is_one() -> None:
    assert [len(shard) for shard in plan(pieces([500, 1, 500]))] == [1, 2]


def test_ids_twice_as_wide_are_half_as_many() -> None:
    items = pieces([10] * 1000)
    narrow = list(plan_shards(items, shard_bytes=2000, itemsize=2))
    wide = list(plan_shards(items, shard_bytes=2000, itemsize=4))
    assert 1.6 < len(wide) / len(narrow) < 2.5
