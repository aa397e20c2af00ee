"""Partitions and chunks bound memory; they never change who stays (PILE-12)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from barrow import Document
from barrow.archive import Writer
from barrow.corpus.build.examine import Findings, Inputs, Settings, examine
from barrow.corpus.build.parts import Examined, cut, frames_of
from barrow.corpus.dedup import deduplicate as deduplicate_module
from barrow.corpus.dedup import pairs_stage
from barrow.corpus.dedup.deduplicate import deduplicate
from barrow.corpus.dedup.numbering import Removals
from barrow.corpus.dedup.settings import Deduplication
from barrow.engine import Engine, File, Stages, Store


def texts(rng: random.Random) -> list[str]:
    words = [f"w{k}" for k in range(500)]
    originals = [rng.choices(words, k=rng.randint(60, 300)) for _ in range(50)]
    found = [" ".join(original) for original in originals]
    found += [text.replace(" ", "  ") for text in found[:10]]
    for original in originals[10:30]:
        original[rng.randrange(len(original))] = "changed"
        found.append(" ".join(original))
    rng.shuffle(found)
    return found


def examined(tmp_path: Path, found: list[str], part_bytes: int) -> list[Examined]:
    with Writer(tmp_path / "in.jsonl.zst", frame_size=2_000) as writer:
        for k, text in enumerate(found):
            meta = {"pile_set_name": "A", "id": f"{k * 7919 % 10007:016x}-{k:08x}", "source": "a"}
            writer.add(Document(text, meta))
    own = []
    file = File(tmp_path / "in.jsonl.zst", "key")
    for part in cut(file, frames_of(file), part_bytes):
        out = Findings(tmp_path / f"examined{part.start}", f"k{part.start}")
        out.folder.mkdir()
        examine(Settings(part.start, part.stop, {"": ()}), Inputs(part.file), out)
        own.append(Examined.of(part, out.facts, out.changed))
    return own


def removed(removals: Removals) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for reason, arrays in removals:
        found.setdefault(reason, set()).update(arrays["removed"].tolist())
    return found


@pytest.mark.parametrize("part_bytes", [10_000, 1 << 26])
@pytest.mark.parametrize(("partition", "chunk"), [(1 << 22, 1 << 26), (7, 3_000)])
def test_the_cut_makes_no_difference(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part_bytes: int,
    partition: int,
    chunk: int,
) -> None:
    monkeypatch.setattr(deduplicate_module, "_PARTITION_DOCUMENTS", partition)
    monkeypatch.setattr(pairs_stage, "_CHUNK_BYTES", chunk)
    own = examined(tmp_path, texts(random.Random(0)), part_bytes)
    with Stages(Store(tmp_path / "store"), Engine(num_workers=0)) as stages:
        found = removed(deduplicate(own, [], Deduplication(), stages))
        assert {reason: len(numbers) for reason, numbers in found.items()} == {
            "duplicate": 10,
            "near-duplicate": 20,
        }
        assert found == removed(deduplicate(own, [], Deduplication(), stages))
        stricter = removed(deduplicate(own, [], Deduplication(similarity=1.0), stages))
        assert stricter["near-duplicate"] == set()
        # What was kept once counts as known the next time, and stays.
        again = removed(deduplicate(own, own, Deduplication(), stages))
        assert again["duplicate"] == set(range(80))
