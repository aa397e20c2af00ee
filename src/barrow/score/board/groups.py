"""Which results may stand in one ranking.

Results with different windows are never ranked together. What has no windows (compressors, byte
models) saw each document whole and joins every ranking of its ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from barrow.score.card import Card, comparable


@dataclass(frozen=True)
class Group:
    """A ranking: the card that names it, and which results it holds."""

    card: Card
    members: tuple[int, ...]


def groups(cards: Sequence[Card]) -> list[Group]:
    """Rankings of results by their cards; larger ones first, each result in one at least."""
    # With windows first: a ranking without any is one that no windows can name.
    order = sorted(range(len(cards)), key=lambda k: (cards[k].window is None, cards[k].hash))
    found: list[Group] = []
    placed: set[int] = set()
    for k in order:
        if k in placed:
            continue
        card = cards[k]
        members = tuple(n for n, other in enumerate(cards) if comparable(card, other) is None)
        found.append(Group(card, members))
        placed.update(members)
    return sorted(found, key=lambda group: (-len(group.members), group.card.hash))
