"""Entities in rows of BIO tags, and the F1 of finding them whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# (type, first word, word behind the last)
Entity = tuple[str, int, int]


def is_bio(tags: Iterable[str]) -> bool:
    """Whether all tags are O, B-type or I-type, and there is a type at all."""
    known = set(tags)
    typed = {tag for tag in known if tag[:2] in ("B-", "I-") and len(tag) > 2}
    return bool(typed) and known - typed <= {"O"}


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of a row of tags, as CoNLL's evaluation counts them.

    One begins at B, and at an I that follows O or another type; it goes on through I of its type.
    """
    found: list[Entity] = []
    begun: tuple[str, int] | None = None
    for place, tag in enumerate([*tags, "O"]):
        kind = tag[2:] if tag != "O" else None
        if begun is not None and (tag[:2] != "I-" or kind != begun[0]):
            found.append((*begun, place))
            begun = None
        if kind is not None and begun is None:
            begun = (kind, place)
    return found


@dataclass(frozen=True)
class EntityCounts:
    """Entities that were said and true alike (type and both ends), said, and true; they add up."""

    both: int = 0
    said: int = 0
    true: int = 0

    def __add__(self, other: EntityCounts) -> EntityCounts:
        return EntityCounts(self.both + other.both, self.said + other.said, self.true + other.true)

    @property
    def precision(self) -> float:
        """The share of those said that are true; 0 of none."""
        return self.both / self.said if self.said else 0.0

    @property
    def recall(self) -> float:
        """The share of those true that were said; 0 of none."""
        return self.both / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        """2·both / (said + true); 0 where there are none."""
        return 2 * self.both / (self.said + self.true) if self.said + self.true else 0.0


def entity_counts(truth: Sequence[str], predicted: Sequence[str]) -> EntityCounts:
    """Of one row."""
    if len(truth) != len(predicted):
        raise ValueError(f"{len(truth)} true tags and {len(predicted)} predicted ones")
    true, said = set(entities(truth)), set(entities(predicted))
    return EntityCounts(len(true & said), len(said), len(true))
