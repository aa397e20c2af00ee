from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from barrow.corpus.build.facts import (
    Facts,
    load_band,
    load_columns,
    load_facts,
    load_names,
    save_facts,
)


def some_facts(num: int = 7) -> Facts:
    rng = np.random.default_rng(0)
    facts = replace(Facts.blank(num), domains=["A", "é"], languages=["", "en"])
    facts.bands[:] = rng.integers(0, 1 << 63, facts.bands.shape, np.uint64)
    facts.size[:] = rng.integers(0, 100, num)
    facts.kept[2] = False
    facts.cluster[[1, 5]] = (1 << 63) + 9
    return facts


def test_facts_are_saved_and_read_back(tmp_path: Path) -> None:
    facts = some_facts()
    save_facts(facts, tmp_path / "a.safetensors")
    again = load_facts(tmp_path / "a.safetensors")
    for name, value in vars(facts).items():
        assert np.array_equal(value, getattr(again, name)), name
    assert load_names(tmp_path / "a.safetensors") == (["A", "é"], ["", "en"])
    columns = load_columns(tmp_path / "a.safetensors", ("kept", "size"))
    assert columns.keys() == {"kept", "size"}
    assert columns["kept"].tolist() == facts.kept.tolist()
    for band in (0, 13):
        assert load_band(tmp_path / "a.safetensors", band).tolist() == facts.bands[:, band].tolist()


def test_the_same_facts_are_the_same_bytes(tmp_path: Path) -> None:
    """PILE-1: an index beside a corpus is as reproducible as the corpus."""
    for k in range(20):
        save_facts(some_facts(), tmp_path / f"{k}.safetensors")
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_nothing(tmp_path: Path) -> None:
    save_facts(Facts.blank(0), tmp_path / "a.safetensors")
    assert len(load_facts(tmp_path / "a.safetensors")) == 0
