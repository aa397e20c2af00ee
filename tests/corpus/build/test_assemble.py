from __future__ import annotations

from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import barrow
from barrow import Document
from barrow.archive.catalog import ShardEntry
from barrow.corpus.build.assemble import assemble_tasks
from barrow.corpus.build.publish import Shard
from barrow.engine import File


@given(st.lists(st.integers(0, 30), min_size=1, max_size=4), st.integers(1, 3000))
def test_shards_hold_everything_once_and_in_order(
    tmp_path_factory: object, sizes: list[int], shard_size: int
) -> None:
    folder: Path = tmp_path_factory.mktemp("x")  # type: ignore[attr-defined]
    everything: list[Document] = []
    files: list[File] = []
    for k, size in enumerate(sizes):
        documents = [Document(f"{k} {n} " * 9) for n in range(size)]
        path = folder / f"{k}.jsonl.zst"
        with barrow.archive.Writer(path, frame_size=300) as writer:
            writer.extend(documents)
        everything += documents
        files.append(File(path, str(k)))
    read: list[Document] = []
    tasks = assemble_tasks(files, shard_size)
    for k, task in enumerate(tasks):
        out = folder / f"out{k}"
        out.mkdir()
        task.perform(out)
        result = Shard(out, task.key)
        read += list(barrow.archive.open(result.shard))
        entry = msgspec.json.decode(result.entry.path.read_bytes(), type=ShardEntry)
        assert entry.documents == sum(stop - start for start, stop in task.settings.ranges) > 0
        assert k == len(tasks) - 1 or entry.content_bytes >= shard_size
    assert read == everything
