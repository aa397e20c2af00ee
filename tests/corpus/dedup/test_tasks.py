"""Partitions and chunks bound memory; they never change who stays (PILE-12)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from barrow import Document
from barrow.archive import Writer
from barrow.corpus import examine_stage
from barrow.corpus.dedup import stages, tasks
from barrow.corpus.dedup.parts import load_arrays
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.dedup.tasks import Examined, Removals, deduplicate
from barrow.corpus.facts import load_names
from barrow.corpus.parts import cut
from barrow.corpus.progress import Progress
from barrow.corpus.refine import Stages
from barrow.engine import Engine, Store, Team


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
    for part in cut(tmp_path / "in.jsonl.zst", "key", part_bytes):
        out = tmp_path / f"examined{part.start}"
        out.mkdir()
        settings = {"start": part.start, "stop": part.stop, "filters": {"": {}}}
        examine_stage.examine(out, [str(part.file)], settings | {"min_ngrams": 1})
        facts = out / examine_stage.FACTS
        names = load_names(facts)[0]
        own.append(Examined(part, f"k{part.start}", facts, out / examine_stage.CHANGED, names))
    return own


def removed(removals: Removals) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for path, reason in zip(removals.files, removals.reasons, strict=True):
        found.setdefault(reason, set()).update(load_arrays(path)["removed"].tolist())
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
    monkeypatch.setattr(tasks, "_PARTITION_DOCUMENTS", partition)
    monkeypatch.setattr(stages, "_CHUNK_BYTES", chunk)
    own = examined(tmp_path, texts(random.Random(0)), part_bytes)
    store = Store(tmp_path / "store")
    with Team(Engine(num_workers=0), store) as team:
        run = Stages(store, team, Progress()).run
        found = removed(deduplicate(own, [], Deduplication(), run))
        assert {reason: len(numbers) for reason, numbers in found.items()} == {
            "duplicate": 10,
            "near-duplicate": 20,
        }
        assert found == removed(deduplicate(own, [], Deduplication(), run))
        stricter = removed(deduplicate(own, [], Deduplication(similarity=1.0), run))
        assert stricter["near-duplicate"] == set()
        # What was kept once counts as known the next time, and stays.
        again = removed(deduplicate(own, own, Deduplication(), run))
        assert again["duplicate"] == set(range(80))
