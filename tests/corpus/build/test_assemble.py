from __future__ import annotations

from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import barrow
from barrow import Document
from barrow.archive.catalog import ShardEntry
from barrow.corpus.build.assemble import assemble_tasks
from barrow.corpus.build.parts import Rejecting
from barrow.corpus.build.publish import Shard


@given(st.lists(st.integers(0, 30), min_size=1, max_size=4), st.integers(1, 3000))
def test_shards_hold_everything_once_and_in_order(
    tmp_path_factory: object, sizes: list[int], shard_size: int
) -> None:
    folder: Path = tmp_path_factory.mktemp("x")  # type: ignore[attr-defined]
    everything: list[Document] = []
    results: list[Rejecting] = []
    for k, size in enumerate(sizes):
        documents = [Document(f"{k} {n} " * 9) for n in range(size)]
        result = Rejecting(folder / f"{k}", str(k))
        result.folder.mkdir()
        with barrow.archive.Writer(result.rejects, frame_size=300) as writer:
            writer.extend(documents)
        result.save_frames()
        everything += documents
        results.append(result)
    read: list[Document] = []
    tasks = assemble_tasks(results, shard_size)
    for k, task in enumerate(tasks):
        out = folder / f"out{k}"
        out.mkdir()
        task.perform(out)
        shard = Shard(out, task.key)
        read += list(barrow.archive.open(shard.shard))
        entry = msgspec.json.decode(shard.entry.path.read_bytes(), type=ShardEntry)
        assert entry.documents == sum(stop - start for start, stop in task.settings.ranges) > 0
        assert k == len(tasks) - 1 or entry.content_bytes >= shard_size
    assert read == everything
