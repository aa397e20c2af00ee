from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import barrow
from barrow import Document
from barrow.engine import Engine
from barrow.stream import Stream
from barrow.stream.origins import origins
from barrow.tokens import load, tokenize

EPOCH = {"A": 1.0, "unknown": 1.0}


def test_metas_of_the_archive(token_store: Any, corpus: Path) -> None:
    stream = Stream(token_store, seq_len=24, batch=4, seed=2)
    seen = stream.explain(3)
    metas = origins(token_store, seen)
    archive = barrow.archive.open(corpus)
    assert set(metas) == {one.document for one in seen}
    for one in seen:
        meta = metas[one.document]
        assert meta["id"] == one.identity
        assert meta == archive[one.archive_number].meta
        assert meta["licence"] in ("CC0-1.0", "MIT")


def test_an_archive_that_is_gone_or_was_rewritten(corpus: Path, tmp_path: Path) -> None:
    moved = tmp_path / "archive"
    shutil.copytree(corpus, moved)
    store = tokenize(
        moved, tokenizer=load("bytes"), out=tmp_path / "store", engine=Engine("local", 0)
    )
    seen = Stream(store, seq_len=24, batch=4, seed=2).explain(3)
    assert origins(store, seen)
    documents = list(barrow.archive.open(moved))
    shutil.rmtree(moved)
    assert origins(store, seen) == {}
    with barrow.archive.Writer(moved) as writer:
        writer.add(Document("before all others", {"id": "f" * 16 + "-" + "f" * 8}))
        writer.extend(documents)
    assert origins(store, seen) == {}
    (moved / "archive.json").write_text("{")
    assert origins(store, seen) == {}


def test_a_takedown_moves_documents(tmp_path: Path) -> None:
    """BEYOND-2: what is left is still found, and no document gets the licence of another."""
    documents = []
    for n in range(60):
        meta = {"pile_set_name": "A", "licence": f"licence {n}", "id": f"{n + 1:016x}-{n:08x}"}
        documents.append(Document("stone " * 5, meta if n % 10 else {"licence": "no id"}))

    def write() -> None:
        shutil.rmtree(tmp_path / "archive", ignore_errors=True)
        with barrow.archive.Writer(tmp_path / "archive") as writer:
            writer.extend(documents)

    write()
    store = tokenize(
        tmp_path / "archive", tokenizer=load("bytes"), out=tmp_path / "s", engine=Engine("local", 0)
    )
    seen = Stream(store, seq_len=31, batch=60, seed=0, epochs=EPOCH).explain(0)
    assert len(origins(store, seen)) == 60
    del documents[3], documents[29:32]
    write()
    metas = origins(store, seen)
    told = {one.identity: metas[one.document] for one in seen if one.document in metas}
    assert told == {d.meta["id"]: d.meta for d in documents if "id" in d.meta}
