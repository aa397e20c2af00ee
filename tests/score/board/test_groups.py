"""Results with different cards are never ranked together (BEYOND-1)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from tests.score.board.made_results import WINDOW, ground

from barrow.score.board.data import groups
from barrow.score.card import Card, Window, comparable

WIDE = Window(2048, 2048, "end", protocol="pile")
HERE, THERE = ground(), ground("stories", digest="e" * 64)


def test_different_cards_are_never_ranked_together() -> None:
    """Two windows, what has none, whole domains, pseudo-likelihoods and another ground."""
    cards = [
        Card(HERE, "causal", WINDOW),
        Card(HERE, "causal", WIDE),
        Card(HERE, "compressed", None),
        Card(HERE, "causal", None),
        Card(THERE, "causal", WINDOW),
        Card(HERE, "pseudo", WINDOW),
        Card(HERE, "compressed", None, scope="domain"),
        Card(HERE, "causal", replace(WINDOW, protocol="custom")),
    ]
    found = {group.members: group.card for group in groups(cards)}
    assert set(found) == {(0, 2, 3, 7), (1, 2, 3), (4,), (5,), (6,)}
    assert found[0, 2, 3, 7].window is not None
    for members in found:
        for a, b in product(members, members):
            assert comparable(cards[a], cards[b]) is None


def test_without_windows_alone() -> None:
    cards = [
        Card(HERE, "compressed", None),
        Card(HERE, "causal", None),
        Card(THERE, "causal", None),
    ]
    assert [group.members for group in groups(cards)] == [(0, 1), (2,)]


def test_larger_rankings_come_first_and_the_order_of_files_does_not_matter() -> None:
    cards = [Card(THERE, "causal", WINDOW), Card(HERE, "causal", WINDOW)]
    cards += [Card(HERE, "causal", WINDOW)]
    assert [group.members for group in groups(cards)] == [(1, 2), (0,)]
    backward = groups(cards[::-1])
    assert [group.card.hash for group in backward] == [g.card.hash for g in groups(cards)]
    assert groups([]) == []
