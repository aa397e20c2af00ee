"""From documents to buckets to a shard: the two stages that move lines (PILE-1)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

import barrow
from barrow import Document
from barrow.archive import Writer
from barrow.corpus.build import gather
from barrow.corpus.build.facts import Facts, load_facts, save_facts
from barrow.corpus.build.parts import PartFiles
from barrow.corpus.build.scatter import Inputs, Scattered, Settings, scatter
from barrow.corpus.dedup.numbering import Removals, load_arrays, save_arrays
from barrow.engine import File

NUM = 40


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
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
    files = [File(path, "") for path in (documents, tmp_path / "f", changed)]
    plan_file, removed = (File(tmp_path / name, "") for name in "pr")
    return Inputs(PartFiles(*files), plan_file, Removals((removed,)))


SETTINGS = Settings(
    start=0, offset=100, seed=42, stages=("filter", "deduplicate"), buckets=(3, 0, 0)
)


def scattered(tmp_path: Path, inputs: Inputs) -> Scattered:
    out = Scattered(tmp_path / "scattered", "key")
    out.folder.mkdir()
    scatter(SETTINGS, inputs, out)
    return out


def test_lines_are_grouped_by_bucket(tmp_path: Path, inputs: Inputs) -> None:
    out = scattered(tmp_path, inputs)
    lines = list(barrow.archive.open(out.lines))
    keys = load_arrays(out.keys)
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
    rejects = list(barrow.archive.open(out.rejects))
    assert [reject.meta["cause"] for reject in rejects] == [
        "1.000 like 0000000000000001-00000002",
        "0.900 like 0000000000000003-00000004",
    ]
    counts = json.loads(out.counts.path.read_text())
    assert counts == {"A": {"duplicate": 2, "bytes.duplicate": 14}}


def test_buckets_become_a_shard_with_its_facts(tmp_path: Path, inputs: Inputs) -> None:
    out = scattered(tmp_path, inputs)
    shard = gather.Gathered(tmp_path / "shard", "key")
    shard.folder.mkdir()
    part = gather.Part(out.lines, out.keys, inputs.part.facts)
    gather.gather(gather.Settings((0, 1, 2)), (part,), shard)
    documents = list(barrow.archive.open(shard.shard))
    lines = list(barrow.archive.open(out.lines))
    assert sorted(d.text for d in documents) == sorted(d.text for d in lines)
    facts = load_facts(shard.facts)
    for document, identity in zip(documents, facts.identity.tolist(), strict=True):
        assert document.meta["id"] == f"{identity[0]:016x}-{identity[1]:08x}"
    assert msgspec.json.decode(shard.entry.path.read_bytes())["documents"] == len(documents)
    told = json.loads(shard.statistics.path.read_text())["A"]
    assert told["documents"] == told["language.en.documents"] == len(documents)
    assert told["bytes"] == int(facts.size.sum())
    assert told["licence.unknown.documents"] == len(documents)
