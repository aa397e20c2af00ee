from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from barrow.corpus.build.facts import Facts, save_facts
from barrow.corpus.dedup.numbering import Order, Parts, Removals, load_arrays, save_arrays
from barrow.engine import File


def parts_of(tmp_path: Path, keep: str, num_own: int = 2) -> Parts:
    """Two parts of three documents and one of two, with sizes, qualities and domains."""
    files, sizes, names = [], [], []
    for k, values in enumerate([(5, 9, 1), (9, 2, 7), (1, 1)]):
        facts = replace(Facts.blank(len(values)), domains=["A", "B"])
        facts.size[:] = values
        facts.quality[:] = [-value for value in values]
        facts.domain[:] = [i % 2 for i in range(len(values))]
        facts.identity[:, 0] = [100 - 10 * k - i for i in range(len(values))]
        save_facts(facts, tmp_path / f"{k}.safetensors")
        files.append(File(tmp_path / f"{k}.safetensors", ""))
        sizes.append(len(values))
        names.append(tuple(facts.domains))
    return Parts(files, Order(tuple(sizes), tuple(names), num_own, keep, prefer=("B",)))


@pytest.mark.parametrize(
    ("keep", "best_first"),
    [
        # Known documents come first, whatever they are; ties are settled by the id.
        ("longest", [7, 6, 3, 1, 5, 0, 4, 2]),
        ("quality", [7, 6, 2, 4, 0, 5, 3, 1]),
        ("domain", [7, 6, 4, 1, 5, 3, 2, 0]),
    ],
)
def test_the_order_of_preference(tmp_path: Path, keep: str, best_first: list[int]) -> None:
    parts = parts_of(tmp_path, keep)
    assert np.argsort(parts.ranks(np.arange(8))).tolist() == best_first
    some = np.array([0, 4, 6])
    expected = [number for number in best_first if number in some]
    assert some[np.argsort(parts.ranks(some))].tolist() == expected


def test_identities_in_any_order(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, "longest")
    assert parts.identities(np.array([7, 0, 4]))[:, 0].tolist() == [79, 100, 89]
    assert parts.identities(np.array([], np.int64)).shape == (0, 2)
    assert (len(parts), parts.first_known) == (8, 6)


def test_removals_add_up(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a", removed=np.array([1, 3]))
    save_arrays(tmp_path / "b", removed=np.array([4]))
    one, other = File(tmp_path / "a", ""), File(tmp_path / "b", "")
    for removals in (Removals((one, other)), Removals((one,), other)):
        assert np.flatnonzero(removals.flags(6)).tolist() == [1, 3, 4]
    assert [reason for reason, _ in removals] == ["duplicate", "near-duplicate"]
    assert load_arrays(tmp_path / "b")["removed"].tolist() == [4]
