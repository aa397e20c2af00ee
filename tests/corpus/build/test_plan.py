from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from barrow.corpus.build.facts import Facts
from barrow.corpus.build.plan import clusters_of, copies_of, labels_of, split_of


def facts_of(num: int) -> Facts:
    facts = replace(Facts.blank(num), domains=["A", "B"])
    facts.identity[:, 0] = np.arange(num)
    facts.domain[num // 2 :] = 1
    return facts


def test_a_cluster_has_one_label() -> None:
    facts = facts_of(6)
    nothing = clusters_of(facts, 100, None)
    assert labels_of(facts, nothing).tolist() == [0, 1, 2, 3, 4, 5]
    clusters = {
        "numbers": np.array([3, 101, 104, 200]),
        "labels": np.array([9, 77, 77, 9], np.uint64),
    }
    found = clusters_of(facts, 100, clusters)
    assert found.tolist() == [0, 77, 0, 0, 77, 0]
    assert labels_of(facts, found).tolist() == [0, 77, 2, 3, 77, 5]


def test_splits_by_thresholds() -> None:
    labels = np.arange(20_000, dtype=np.uint64)
    split = split_of(labels, 42, {"validation": 0.1, "test": 0.2})
    assert np.bincount(split) / 20_000 == pytest.approx([0.7, 0.1, 0.2], abs=0.01)
    assert not split_of(labels, 42, {"validation": 0.0, "test": 0.0}).any()
    assert (split != split_of(labels, 43, {"validation": 0.1, "test": 0.2})).any()


def test_copies_by_domain() -> None:
    plan = {"A": {"whole": 2, "threshold": 0.5}, "B": {"whole": 0, "threshold": 0.25}}
    copies = copies_of(facts_of(20_000), 42, plan)
    assert set(copies[:10_000]) == {2, 3}
    assert set(copies[10_000:]) == {0, 1}
    assert copies[:10_000].mean() == pytest.approx(2.5, abs=0.02)
    assert copies[10_000:].mean() == pytest.approx(0.25, abs=0.02)
