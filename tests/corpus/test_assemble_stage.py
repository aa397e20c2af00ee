from __future__ import annotations

from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import barrow
from barrow import Document
from barrow.archive.catalog import ShardEntry
from barrow.corpus.assemble_stage import ENTRY, SHARD, assemble, plan_shards


@given(st.lists(st.integers(0, 30), min_size=1, max_size=4), st.integers(1, 3000))
def test_shards_hold_everything_once_and_in_order(
    tmp_path_factory: object, sizes: list[int], shard_size: int
) -> None:
    folder: Path = tmp_path_factory.mktemp("x")  # type: ignore[attr-defined]
    everything: list[Document] = []
    files: list[str] = []
    for k, size in enumerate(sizes):
        documents = [Document(f"{k} {n} " * 9) for n in range(size)]
        path = folder / f"{k}.jsonl.zst"
        with barrow.archive.Writer(path, frame_size=300) as writer:
            writer.extend(documents)
        everything += documents
        files.append(str(path))
    read: list[Document] = []
    plan = plan_shards(files, shard_size)
    for k, parts in enumerate(plan):
        out = folder / f"out{k}"
        out.mkdir()
        assemble(out, [p.file for p in parts], {"ranges": [[p.start, p.stop] for p in parts]})
        read += list(barrow.archive.open(out / SHARD))
        entry = msgspec.json.decode((out / ENTRY).read_bytes(), type=ShardEntry)
        assert entry.documents == sum(part.stop - part.start for part in parts) > 0
        assert k == len(plan) - 1 or entry.content_bytes >= shard_size
    assert read == everything
