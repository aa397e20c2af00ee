from __future__ import annotations

from barrow.tokens.formats.rank_file import ranked_merges


def test_every_way_lowest_rank_first() -> None:
    ranks = {"a": 0, "b": 1, "c": 2, "bc": 3, "ab": 4, "abc": 5, "xy": 6}
    assert ranked_merges(ranks, rank=ranks, parts=ranks) == [
        ("b", "c"),
        ("a", "b"),
        ("a", "bc"),
        ("ab", "c"),
    ]


def test_ranks_may_be_scores_and_some_tokens_no_parts() -> None:
    scores = {"ab": -1.5, "bc": -2.5, "abc": -0.5}
    parts = {"a": 0, "b": 1, "c": 2, "bc": 3}
    assert ranked_merges(scores, rank=scores, parts=parts) == [("b", "c"), ("a", "b"), ("a", "bc")]
