from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.train.finetune.metrics import EntityCounts, entities, entity_counts, is_bio

tags = st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), max_size=12)


def by_pattern(row: list[str]) -> set[tuple[str, int, int]]:
    """One letter for each tag (capitals begin), and a regular expression for each type."""
    text = "".join({"O": ".", "B-A": "A", "I-A": "a", "B-B": "B", "I-B": "b"}[tag] for tag in row)
    return {
        (kind, found.start(), found.end())
        for kind, pattern in (("A", "Aa*|a+"), ("B", "Bb*|b+"))
        for found in re.finditer(pattern, text)
    }


@given(tags)
def test_entities_by_another_way(row: list[str]) -> None:
    assert set(entities(row)) == by_pattern(row)
    assert len(entities(row)) == len(by_pattern(row))


@given(st.lists(st.tuples(tags, tags), min_size=1, max_size=5))
def test_counts_of_rows_add_up(rows: list[tuple[list[str], list[str]]]) -> None:
    both = said = true = 0
    total = EntityCounts()
    for first, second in rows:
        num = min(len(first), len(second))
        a, b = by_pattern(first[:num]), by_pattern(second[:num])
        both, said, true = both + len(a & b), said + len(b), true + len(a)
        total += entity_counts(first[:num], second[:num])
    assert total == EntityCounts(both, said, true)
    precision, recall = both / said if said else 0.0, both / true if true else 0.0
    assert (total.precision, total.recall) == (precision, recall)
    mean = 2 * precision * recall / (precision + recall) if both else 0.0
    assert total.f1 == pytest.approx(mean, abs=1e-12)


def test_an_example_of_conll() -> None:
    true = ["B-PER", "I-PER", "O", "B-LOC", "O"]
    said = ["B-PER", "I-PER", "O", "I-LOC", "I-LOC"]
    assert entities(said) == [("PER", 0, 2), ("LOC", 3, 5)]
    assert entity_counts(true, said) == EntityCounts(both=1, said=2, true=2)
    with pytest.raises(ValueError, match="1 true tags and 2 predicted"):
        entity_counts(["O"], ["O", "O"])


@pytest.mark.parametrize(
    ("known", "is_so"),
    [(["O", "B-A", "I-A"], True), (["B-A"], True), (["O"], False), (["O", "NOUN"], False)],
)
def test_bio(known: list[str], is_so: bool) -> None:
    assert is_bio(known) == is_so
    assert not is_bio(["O", "B-", "I-A"])
