"""The manifest's numbers are those of the corpus (PILE-5)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import barrow
from barrow.corpus import Domain, PlainText, Recipe, build
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.filters.length import Length
from barrow.corpus.manifest import rejects_by_domain
from barrow.corpus.mixture import Splits
from barrow.engine import Engine


def test_it_agrees_with_the_corpus(tmp_path: Path) -> None:
    root, out = tmp_path / "raw", tmp_path / "out"
    (root / "a").mkdir(parents=True)
    for k in range(60):
        (root / "a" / f"{k}.txt").write_text(f"number {k} " * (k + 1))
    for name in ("copy", "other copy"):
        (root / "a" / f"{name}.txt").write_text("number 7  " * 8)
    (root / "a" / "empty.txt").touch()
    filters = (Length(min_bytes=50),)
    recipe = Recipe(
        "test",
        {"a": Domain("A", PlainText(), licence="MIT", language="en", filters=filters)},
        deduplication=Deduplication(near=False),
        splits=Splits(test=0.3),
    )
    told = build(recipe, root=root, out=out, engine=Engine(num_workers=0))
    assert json.loads((out / "manifest.json").read_text()) == told
    stages = told["stages"]["A"]
    assert (stages["documents"], told["reading"]["a"]["documents"]) == (62, 62)
    assert stages["filter"]["documents"] == 62 - stages["filter"]["rejects"]["too-few-bytes"]
    assert stages["deduplicate"]["rejects"] == {"duplicate": 2}
    assert stages["deduplicate"]["documents"] == stages["filter"]["documents"] - 2

    kept = 0
    for split, folder in (("train", out), ("test", out / "test")):
        documents = list(barrow.archive.open(folder))
        kept += len(documents)
        domain = told["splits"][split]["domains"]["A"]
        sizes = [len(document.text.encode()) for document in documents]
        assert (domain["documents"], domain["bytes"]) == (len(documents), sum(sizes))
        assert domain["licences"] == {"MIT": {"documents": len(documents), "bytes": sum(sizes)}}
        assert domain["languages"] == {"en": {"documents": len(documents), "bytes": sum(sizes)}}
        lengths = Counter(str(size.bit_length()) for size in sizes)
        assert {k: v["documents"] for k, v in domain["lengths"].items()} == dict(lengths)
        for shard in told["splits"][split]["shards"]:
            digest = hashlib.sha256((folder / shard["name"]).read_bytes()).hexdigest()
            assert digest == shard["sha256"]
    assert kept == stages["deduplicate"]["documents"]
    rejects = Counter(d.meta["reason"] for d in barrow.archive.open(out / "rejects"))
    assert rejects_by_domain(told) == {"A": dict(sorted(rejects.items()))}
