"""Removal budgets of domains (BEYOND-5)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from barrow import Document
from barrow.archive import Writer
from barrow.corpus.build.facts import Facts, save_facts
from barrow.corpus.build.parts import Examined, cut, frames_of
from barrow.corpus.dedup.budget import check_budget
from barrow.corpus.dedup.numbering import Removals, save_arrays
from barrow.corpus.dedup.settings import Deduplication
from barrow.engine import Engine, File, Stages, Store
from barrow.errors import BudgetExceeded


def examined(tmp_path: Path, name: str, num: int) -> Examined:
    with Writer(tmp_path / f"{name}.jsonl.zst") as writer:
        writer.extend(Document(f"{name} text {k}", {"id": f"{name}{k}"}) for k in range(num))
    facts = replace(Facts.blank(num), domains=[name])
    save_facts(facts, tmp_path / f"{name}.safetensors")
    file = File(tmp_path / f"{name}.jsonl.zst", name)
    (part,) = cut(file, frames_of(file))
    return Examined.of(part, File(tmp_path / f"{name}.safetensors", name))


def test_the_budget_is_of_each_domain(tmp_path: Path) -> None:
    own = [examined(tmp_path, "A", 10), examined(tmp_path, "B", 4)]
    removed = np.array([1, 2, 11, 12, 13])
    save_arrays(
        tmp_path / "removed",
        removed=removed,
        of_identity=np.full((5, 2), 7, np.uint64),
        similarity=np.full(5, 0.9),
    )
    removals = Removals(near_duplicates=File(tmp_path / "removed", "removed"))
    stages = Stages(Store(tmp_path / "store"), Engine(num_workers=0))
    with pytest.raises(BudgetExceeded) as caught:
        check_budget(own, removals, Deduplication(budget=0.5), stages)
    words = str(caught.value)
    assert "3 of 4 documents of B (75%), more than its budget of 50%" in words
    assert "B1 is 0.900 like 0000000000000007-00000007: B text 1" in words
    check_budget(own, removals, Deduplication(budget=0.75), stages)
    check_budget(own, removals, Deduplication(budget=None), stages)
    check_budget(own, removals, Deduplication(budgets={"B": 1.0}), stages)
    with pytest.raises(BudgetExceeded, match="2 of 10 documents of A"):
        check_budget(own, removals, Deduplication(budget=1.0, budgets={"A": 0.1}), stages)
