from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from barrow.corpus.build.facts import Facts, save_facts
from barrow.corpus.dedup import bands_stage, choose_stage, copies_stage, pairs_stage
from barrow.corpus.dedup.numbering import Arrays, Order, Removals, load_arrays, save_arrays
from barrow.engine import File


def one_part(tmp_path: Path, facts: Facts) -> tuple[tuple[File, ...], Order]:
    facts = replace(facts, domains=["A"])
    facts.identity[:, 0] = np.arange(len(facts))
    save_facts(facts, tmp_path / "facts")
    order = Order((len(facts),), (("A",),), num_own=1, keep="longest")
    return (File(tmp_path / "facts", ""),), order


def copies(tmp_path: Path, facts: Facts, partition: int = 0, of: int = 1) -> Arrays:
    files, order = one_part(tmp_path, facts)
    out = copies_stage.Copies(tmp_path, "key")
    settings = copies_stage.Settings(order, partition, of)
    copies_stage.find_copies(settings, copies_stage.Inputs(files, Removals()), out)
    return load_arrays(out.removed)


def pairs(tmp_path: Path, facts: Facts, *bands: Any) -> pairs_stage.Pairs:
    """All candidates, of the pairs that bands have."""
    files, order = one_part(tmp_path, facts)
    out = pairs_stage.Pairs(tmp_path, "key")
    for k, band in enumerate(bands):
        save_arrays(tmp_path / f"band{k}", pairs=np.array(band, np.int64).reshape(-1, 2))
    found = tuple(File(tmp_path / f"band{k}", "") for k in range(len(bands)))
    pairs_stage.join_pairs(order, pairs_stage.Inputs(files, found), out)
    return out


def chosen(tmp_path: Path, facts: Facts, *verified: File) -> Arrays:
    files, order = one_part(tmp_path, facts)
    out = choose_stage.Chosen(tmp_path, "key")
    inputs = choose_stage.Inputs(files, verified)
    choose_stage.choose_kept(order, inputs, out)
    return load_arrays(out.removed)


def test_copies_are_those_of_both_halves_of_the_hash(tmp_path: Path) -> None:
    facts = Facts.blank(6)
    facts.content[:] = [[1, 1], [1, 2], [1, 1], [2, 2], [1, 1], [2, 2]]
    facts.size[:] = [10, 10, 12, 5, 11, 5]
    facts.kept[5] = False
    found = copies(tmp_path, facts)
    assert sorted(found["removed"].tolist()) == [0, 4], "the longest of three stays"
    assert set(found["of_identity"][:, 0].tolist()) == {2}


def test_a_partition_looks_at_its_own_hashes(tmp_path: Path) -> None:
    facts = Facts.blank(4)
    facts.content[:] = [[2, 0], [2, 0], [3, 0], [3, 0]]
    for partition, expected in ((0, {0, 1}), (1, {2, 3})):
        (number,) = copies(tmp_path, facts, partition, of=2)["removed"].tolist()
        assert number in expected


def test_candidates_leave_out_what_is_gone(tmp_path: Path) -> None:
    facts = Facts.blank(4)
    facts.bands[:, 3] = 9
    facts.kept[0] = False
    files, order = one_part(tmp_path, facts)
    save_arrays(tmp_path / "gone", removed=np.array([1]))
    inputs = bands_stage.Inputs(files, Removals((File(tmp_path / "gone", ""),)))
    out = bands_stage.Candidates(tmp_path, "key")
    bands_stage.find_candidates(bands_stage.Settings(order, 3, 0, 1), inputs, out)
    assert load_arrays(out.pairs)["pairs"].tolist() == [[2, 3]]


def test_pairs_are_gathered_once(tmp_path: Path) -> None:
    out = pairs(tmp_path, Facts.blank(9), [[1, 2], [3, 4]], [[1, 2], [1, 8]])
    found = load_arrays(out.pairs)
    assert found["pairs"].tolist() == [[1, 2], [1, 8], [3, 4]]
    assert found["needed"].tolist() == [1, 2, 3, 4, 8]
    plan = json.loads(out.plan.path.read_text())
    assert plan == {"parts": [0], "chunks": [0, 3]}


def test_no_pairs_at_all(tmp_path: Path) -> None:
    out = pairs(tmp_path, Facts.blank(3), [])
    assert json.loads(out.plan.path.read_text()) == {"parts": [], "chunks": [0]}
    assert chosen(tmp_path, Facts.blank(3))["removed"].tolist() == []


def test_clusters_are_named_alike(tmp_path: Path) -> None:
    facts = Facts.blank(6)
    facts.size[:] = [1, 2, 3, 4, 5, 6]
    save_arrays(
        tmp_path / "v", pairs=np.array([[0, 1], [1, 2], [4, 5]]), similarity=np.full(3, 0.9)
    )
    found = chosen(tmp_path, facts, File(tmp_path / "v", ""))
    assert found["removed"].tolist() == [1, 4]
    labels = dict(zip(found["numbers"].tolist(), found["labels"].tolist(), strict=True))
    assert labels == {0: 2, 1: 2, 2: 2, 4: 5, 5: 5}
