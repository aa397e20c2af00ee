from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from barrow.corpus.dedup import stages
from barrow.corpus.dedup.parts import load_arrays, save_arrays
from barrow.corpus.facts import Facts, save_facts

SETTINGS: dict[str, Any] = {"num_own": 1, "keep": "longest", "prefer": [], "domains": [["A"]]}


def one_part(tmp_path: Path, facts: Facts) -> tuple[list[str], dict[str, Any]]:
    facts = replace(facts, domains=["A"])
    facts.identity[:, 0] = np.arange(len(facts))
    save_facts(facts, tmp_path / "facts")
    return [str(tmp_path / "facts")], SETTINGS | {"sizes": [len(facts)]}


def test_copies_are_those_of_both_halves_of_the_hash(tmp_path: Path) -> None:
    facts = Facts.blank(6)
    facts.content[:] = [[1, 1], [1, 2], [1, 1], [2, 2], [1, 1], [2, 2]]
    facts.size[:] = [10, 10, 12, 5, 11, 5]
    facts.kept[5] = False
    files, settings = one_part(tmp_path, facts)
    stages.find_copies(tmp_path, files, settings | {"partition": 0, "of": 1})
    found = load_arrays(tmp_path / stages.RESULT)
    assert sorted(found["removed"].tolist()) == [0, 4], "the longest of three stays"
    assert set(found["of_identity"][:, 0].tolist()) == {2}


def test_a_partition_looks_at_its_own_hashes(tmp_path: Path) -> None:
    facts = Facts.blank(4)
    facts.content[:] = [[2, 0], [2, 0], [3, 0], [3, 0]]
    files, settings = one_part(tmp_path, facts)
    for partition, expected in ((0, {0, 1}), (1, {2, 3})):
        stages.find_copies(tmp_path, files, settings | {"partition": partition, "of": 2})
        (number,) = load_arrays(tmp_path / stages.RESULT)["removed"].tolist()
        assert number in expected


def test_candidates_leave_out_what_is_gone(tmp_path: Path) -> None:
    facts = Facts.blank(4)
    facts.bands[:, 3] = 9
    facts.kept[0] = False
    files, settings = one_part(tmp_path, facts)
    save_arrays(tmp_path / "gone", removed=np.array([1]))
    stages.find_candidates(
        tmp_path,
        [*files, str(tmp_path / "gone")],
        settings | {"band": 3, "partition": 0, "of": 1},
    )
    assert load_arrays(tmp_path / stages.RESULT)["pairs"].tolist() == [[2, 3]]


def test_pairs_are_gathered_once(tmp_path: Path) -> None:
    files, settings = one_part(tmp_path, Facts.blank(9))
    save_arrays(tmp_path / "a", pairs=np.array([[1, 2], [3, 4]]))
    save_arrays(tmp_path / "b", pairs=np.array([[1, 2], [1, 8]]))
    stages.gather_candidates(tmp_path, [*files, str(tmp_path / "a"), str(tmp_path / "b")], settings)
    found = load_arrays(tmp_path / stages.RESULT)
    assert found["pairs"].tolist() == [[1, 2], [1, 8], [3, 4]]
    assert found["needed"].tolist() == [1, 2, 3, 4, 8]
    plan = json.loads((tmp_path / stages.PLAN).read_text())
    assert plan == {"parts": [0], "chunks": [0, 3]}


def test_no_pairs_at_all(tmp_path: Path) -> None:
    files, settings = one_part(tmp_path, Facts.blank(3))
    save_arrays(tmp_path / "a", pairs=np.empty((0, 2), np.int64))
    stages.gather_candidates(tmp_path, [*files, str(tmp_path / "a")], settings)
    assert json.loads((tmp_path / stages.PLAN).read_text()) == {"parts": [], "chunks": [0]}
    stages.choose_kept(tmp_path, files, settings)
    assert load_arrays(tmp_path / stages.RESULT)["removed"].tolist() == []


def test_clusters_are_named_alike(tmp_path: Path) -> None:
    facts = Facts.blank(6)
    facts.size[:] = [1, 2, 3, 4, 5, 6]
    files, settings = one_part(tmp_path, facts)
    save_arrays(
        tmp_path / "v", pairs=np.array([[0, 1], [1, 2], [4, 5]]), similarity=np.full(3, 0.9)
    )
    stages.choose_kept(tmp_path, [*files, str(tmp_path / "v")], settings)
    found = load_arrays(tmp_path / stages.RESULT)
    assert found["removed"].tolist() == [1, 4]
    labels = dict(zip(found["numbers"].tolist(), found["labels"].tolist(), strict=True))
    assert labels == {0: 2, 1: 2, 2: 2, 4: 5, 5: 5}
