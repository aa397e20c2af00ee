"""From documents to buckets to a shard: the two stages that move lines (PILE-1)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import barrow
from barrow import Document
from barrow.archive import Writer
from barrow.corpus import gather_stage, scatter_stage
from barrow.corpus.dedup.parts import load_arrays, save_arrays
from barrow.corpus.facts import Facts, load_facts, save_facts
from barrow.corpus.publish import ENTRY, FACTS, SHARD

NUM = 40


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A part of forty documents, two of them mended, four kept out by filters."""
    facts = replace(Facts.blank(NUM), domains=["A"], languages=["", "en"])
    facts.kept[[3, 4, 5, 6]] = False
    facts.changed[[4, 10, 11]] = True
    facts.language[:] = 1
    documents, changed = tmp_path / "d.jsonl.zst", tmp_path / "c.jsonl.zst"
    with Writer(documents, frame_size=500) as writer, Writer(changed) as mended:
        for k in range(NUM):
            facts.identity[k] = (1000 + k, k)
            facts.size[k] = len(f"text {k}")
            meta = {"pile_set_name": "A", "id": f"{1000 + k:016x}-{k:08x}", "source": "a"}
            meta["decisions"] = {"read": "keep"}  # type: ignore[assignment]
            writer.add(Document(f"text {k}", meta))
            if k in (10, 11):
                mended.add(Document(f"mended {k}", meta))
    save_facts(facts, tmp_path / "f")
    save_arrays(
        tmp_path / "r",
        removed=np.array([100 + 20, 100 + 21]),
        of_identity=np.array([[1, 2], [3, 4]], np.uint64),
        similarity=np.array([1.0, 0.9]),
    )
    plan = {
        "splits": {"validation": 0.0, "test": 0.0},
        "domains": {"A": {"whole": 1, "threshold": 0.5}},
    }
    (tmp_path / "p").write_text(json.dumps(plan))
    return [str(path) for path in (documents, changed, *(tmp_path / name for name in "fpr"))]


SETTINGS: dict[str, Any] = {
    "start": 0,
    "offset": 100,
    "seed": 42,
    "reasons": ["near-duplicate"],
    "clusters": False,
    "stages": ["filter", "deduplicate"],
    "buckets": [3, 0, 0],
}


def scattered(tmp_path: Path, files: list[str]) -> Path:
    out = tmp_path / "scattered"
    out.mkdir()
    scatter_stage.scatter(out, files, SETTINGS)
    return out


def test_lines_are_grouped_by_bucket(tmp_path: Path, files: list[str]) -> None:
    out = scattered(tmp_path, files)
    lines = list(barrow.archive.open(out / scatter_stage.LINES))
    keys = load_arrays(out / scatter_stage.KEYS)
    assert keys["bounds"][-1] == len(lines) == len(keys["keys"]) == len(keys["rows"])
    for start, stop in zip(keys["bounds"][:-1], keys["bounds"][1:], strict=True):
        within = keys["keys"][start:stop].astype(np.float64)
        assert (np.diff(within) >= 0).all()
    texts = {document.text for document in lines}
    assert {"mended 10", "mended 11"} <= texts
    assert not texts & {"text 3", "text 4", "text 10", "text 20", "text 21"}
    assert len(texts) == NUM - 6
    assert len(lines) > len(texts), "half of them are taken twice"
    assert lines[0].meta["decisions"] == {
        "read": "keep",
        "filter": "keep",
        "deduplicate": "keep",
        "split": "train",
    }
    rejects = list(barrow.archive.open(out / scatter_stage.REJECTS))
    assert [reject.meta["cause"] for reject in rejects] == [
        "1.000 like 0000000000000001-00000002",
        "0.900 like 0000000000000003-00000004",
    ]
    counts = json.loads((out / scatter_stage.COUNTS).read_text())
    assert counts == {"A": {"near-duplicate": 2, "bytes.near-duplicate": 14}}


def test_buckets_become_a_shard_with_its_facts(tmp_path: Path, files: list[str]) -> None:
    out = scattered(tmp_path, files)
    shard = tmp_path / "shard"
    shard.mkdir()
    names = (scatter_stage.LINES, scatter_stage.KEYS)
    inputs = [*(str(out / name) for name in names), files[2]]
    gather_stage.gather(shard, inputs, {"buckets": [0, 1, 2]})
    documents = list(barrow.archive.open(shard / SHARD))
    lines = list(barrow.archive.open(out / scatter_stage.LINES))
    assert sorted(d.text for d in documents) == sorted(d.text for d in lines)
    facts = load_facts(shard / FACTS)
    for document, identity in zip(documents, facts.identity.tolist(), strict=True):
        assert document.meta["id"] == f"{identity[0]:016x}-{identity[1]:08x}"
    assert msgspec.json.decode((shard / ENTRY).read_bytes())["documents"] == len(documents)
    told = json.loads((shard / gather_stage.STATISTICS).read_text())["A"]
    assert told["documents"] == told["language.en.documents"] == len(documents)
    assert told["bytes"] == int(facts.size.sum())
    assert told["licence.unknown.documents"] == len(documents)
