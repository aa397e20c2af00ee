from __future__ import annotations

import sys
from pathlib import Path

import pytest

import barrow
from barrow import Document


def test_the_same_documents_in_the_same_order(folder: Path, documents: list[Document]) -> None:
    """PILE-3: Hugging Face datasets, identical first 1,000 documents, meta kept."""
    import datasets

    view = barrow.archive.open(folder).huggingface()
    assert isinstance(view, datasets.IterableDataset)
    assert list(view) == [{"text": d.text, "meta": d.meta} for d in documents]


def test_it_splits(folder: Path, documents: list[Document]) -> None:
    view = barrow.archive.open(folder).huggingface()
    assert view.num_shards > 10
    parts = [list(view.shard(4, k)) for k in range(4)]
    assert sorted(row["meta"]["number"] for part in parts for row in part) == list(range(1000))


def test_metas_may_differ(write: object) -> None:
    path = write([Document("a", {"x": 1}), Document("b", {"y": [2]}), Document("c")])  # type: ignore[operator]
    view = barrow.archive.open(path).huggingface()
    assert [row["meta"] for row in view] == [{"x": 1}, {"y": [2]}, {}]


def test_datasets_reads_the_files_itself(
    folder: Path, documents: list[Document], tmp_path: Path
) -> None:
    """PILE-4: without barrow, too."""
    import datasets

    stream = datasets.load_dataset(
        "json",
        data_files=sorted(str(path) for path in folder.glob("*.zst")),
        split="train",
        streaming=True,
        cache_dir=str(tmp_path / "cache"),
    )
    assert [row["text"] for row in stream] == [d.text for d in documents]


def test_without_datasets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(barrow.errors.MissingExtra, match=r"'.\[huggingface\]"):
        barrow.archive.open(folder).huggingface()
