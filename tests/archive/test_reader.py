from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import barrow
from barrow import Document


def test_an_archive_of_shards_reads_in_order(folder: Path, documents: list[Document]) -> None:
    archive = barrow.archive.open(folder)
    assert len(archive.paths) > 2
    assert list(archive) == documents
    assert list(archive) == documents, "and again"
    assert len(archive) == len(documents)
    assert [archive[i] for i in range(0, 1000, 37)] == documents[::37]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads: int, folder: Path, documents: list[Document]) -> None:
    archive = barrow.archive.open(folder, threads=threads)
    assert list(archive) == documents
    assert [d for block in archive.blocks() for d in block.documents()] == documents


@given(st.integers(-1100, 1100), st.integers(-1100, 1100))
def test_slices_are_those_of_a_list(
    tmp_path_factory: pytest.TempPathFactory, a: int, b: int
) -> None:
    archive, documents = _shared(tmp_path_factory)
    assert list(archive[a:b]) == documents[a:b]
    assert len(archive[a:b]) == len(documents[a:b])
    inner = archive[100:900][a:b]
    assert list(inner) == documents[100:900][a:b]
    assert [d for block in inner.blocks() for d in block.documents()] == documents[100:900][a:b]
    assert [d for frame in inner.frames() for d in frame] == documents[100:900][a:b]


@given(st.integers(1, 40))
def test_parts_are_disjoint_and_exhaustive(
    tmp_path_factory: pytest.TempPathFactory, of: int
) -> None:
    """ACCELERATE-8: the union of shards is the data set, overlap is none."""
    archive, documents = _shared(tmp_path_factory)
    parts = [archive.shard(rank, of) for rank in range(of)]
    assert [d for part in parts for d in part] == documents
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


_made: dict[str, tuple[barrow.archive.Archive, list[Document]]] = {}


def _shared(factory: pytest.TempPathFactory) -> tuple[barrow.archive.Archive, list[Document]]:
    if "it" not in _made:
        path = factory.mktemp("shared") / "archive"
        documents = [Document(f"{n} " * (n % 50), {"n": n}) for n in range(1000)]
        with barrow.archive.Writer(path, frame_size=2000, shard_size=20_000) as writer:
            writer.extend(documents)
        _made["it"] = barrow.archive.open(path), documents
    return _made["it"]


def test_more_ranks_than_documents(write: object) -> None:
    archive = barrow.archive.open(write([Document("a"), Document("b")]))  # type: ignore[operator]
    assert [len(archive.shard(rank, 5)) for rank in range(5)] == [0, 0, 1, 0, 1]


def test_numbers_out_of_range(shard: Path) -> None:
    archive = barrow.archive.open(shard)
    for number in (1000, -1001):
        with pytest.raises(IndexError, match="the archive has 1,000"):
            archive[number]
    assert archive[np.int64(5)] == archive[5]
    with pytest.raises(ValueError, match="with step 1"):
        archive[::2]
    with pytest.raises(TypeError):
        archive["0"]  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="rank must be from 0"):
        archive.shard(2, 2)


def test_fields(shard: Path, documents: list[Document], either_path: str) -> None:
    texts = barrow.archive.open(shard, fields=("text",))
    assert list(texts) == [Document(d.text) for d in documents]
    metas = barrow.archive.open(shard, fields=("meta",))
    assert list(metas) == [Document("", d.meta) for d in documents]
    assert texts[5] == Document(documents[5].text)


def test_numpy_view(folder: Path, documents: list[Document]) -> None:
    """PILE-3: NumPy reads the same documents."""
    pairs = list(barrow.archive.open(folder).numpy())
    assert [(array.tobytes().decode(), meta) for array, meta in pairs] == [
        (d.text, d.meta) for d in documents
    ]
    assert all(array.dtype == np.uint8 for array, _ in pairs)


def test_an_archive_can_be_pickled(folder: Path, documents: list[Document]) -> None:
    archive = pickle.loads(pickle.dumps(barrow.archive.open(folder)[10:500]))
    assert list(archive) == documents[10:500]


_PARALLEL = """
import multiprocessing, sys
import barrow.archive

def texts_of(frame):
    return [document.text for document in frame]

if __name__ == "__main__":
    frames = barrow.archive.open(sys.argv[2]).frames()
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        parts = pool.map(texts_of, frames)
    print(ascii([text for part in parts for text in part]))
"""


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_frames_for_parallel_work(
    start: str, folder: Path, documents: list[Document], tmp_path: Path
) -> None:
    frames = barrow.archive.open(folder).frames()
    assert len(frames) > 10
    assert sum(len(frame) for frame in frames) == len(documents)
    assert [len(list(frame.blocks())) for frame in frames] == [1] * len(frames)
    # In a process of its own: this one may hold threads of other tests, and must not be forked.
    script = tmp_path / "parallel.py"
    script.write_text(_PARALLEL)
    done = subprocess.run(
        [sys.executable, str(script), start, str(folder)], capture_output=True, check=True
    )
    assert ast.literal_eval(done.stdout.decode()) == [d.text for d in documents]


def test_leaving_early_leaves_no_thread(folder: Path) -> None:
    import threading

    before = threading.active_count()
    iterator = iter(barrow.archive.open(folder, threads=4))
    next(iterator)
    del iterator
    assert threading.active_count() == before


def test_its_name(shard: Path, folder: Path) -> None:
    assert "shard.jsonl.zst" in repr(barrow.archive.open(shard))
    assert "files" in repr(barrow.archive.open(folder))
    assert "documents 5 to 9" in repr(barrow.archive.open(folder)[5:9])
    assert barrow.archive.open(shard).num_bytes == shard.stat().st_size
