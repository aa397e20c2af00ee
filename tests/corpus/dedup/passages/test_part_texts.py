"""Texts of a part, as filters left them (PILE-12)."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from barrow.archive import Document, Writer
from barrow.corpus.build.facts import Facts, save_facts
from barrow.corpus.build.parts import PartFiles
from barrow.corpus.dedup.passages.part_texts import PartTexts, part_texts
from barrow.engine import File

TEXTS = [f"text {i} " + "é水" * (i % 4) + "x" * (7 * i) for i in range(24)]
START = 3


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Documents in frames of a few each; the part begins inside one."""
    path = tmp_path_factory.mktemp("part") / "documents.jsonl.zst"
    with Writer(path, frame_size=400) as writer:
        for i, text in enumerate(TEXTS):
            writer.add(Document(text, {"number": i}))
    return str(path)


def part(documents: str, facts: str = "nowhere", changed: str | None = None) -> PartFiles:
    return PartFiles(
        File(documents, ""), File(facts, ""), None if changed is None else File(changed, "")
    )


def write_changes(folder: Path, kept: list[bool], changed: list[bool]) -> tuple[str, str]:
    """Facts, and the texts anew of those that are kept and changed."""
    facts = Facts.blank(len(kept))
    facts.kept[:], facts.changed[:] = kept, changed
    folder.mkdir(exist_ok=True)
    save_facts(facts, folder / "facts.safetensors")
    path = folder / "changed.jsonl.zst"
    path.unlink(missing_ok=True)
    with Writer(path, frame_size=200) as writer:
        for row, (is_kept, is_changed) in enumerate(zip(kept, changed, strict=True)):
            if is_kept and is_changed:
                writer.add(Document(f"anew {row} ü" * (row % 3), {"anew": row}))
    return str(folder / "facts.safetensors"), str(path)


def found(blocks: list[PartTexts]) -> list[tuple[int, str, int]]:
    """Row, text and number of every document; each block is checked for its shape."""
    told = []
    for block in blocks:
        assert len(block.offsets) == len(block.rows) + 1
        assert len(block.rows) == len(block.metas()) > 0
        for i, (row, meta) in enumerate(zip(block.rows.tolist(), block.metas(), strict=True)):
            told.append((row, block.text_of(i).decode(), meta["number"]))
    return told


def test_all_of_them(documents: str) -> None:
    blocks = list(part_texts(part(documents), 0, np.ones(len(TEXTS), np.bool_)))
    assert len(blocks) > 2, "a block at a time"
    assert found(blocks) == [(i, text, i) for i, text in enumerate(TEXTS)]


def test_nothing_is_opened_where_nothing_is_wanted() -> None:
    nowhere = part("nowhere", "nowhere", "nowhere")
    assert list(part_texts(nowhere, 0, np.zeros(5, np.bool_))) == []
    assert list(part_texts(nowhere, 0, np.zeros(0, np.bool_))) == []


def test_rows_count_from_the_start_of_the_part(documents: str) -> None:
    wanted = np.zeros(10, np.bool_)
    wanted[[0, 4, 9]] = True
    expected = [(row, TEXTS[START + row], START + row) for row in (0, 4, 9)]
    assert found(list(part_texts(part(documents), START, wanted))) == expected


def test_facts_without_changes_change_nothing(documents: str, tmp_path: Path) -> None:
    facts, _ = write_changes(tmp_path, [True] * 4, [True] * 4)
    wanted = np.ones(4, np.bool_)
    assert found(list(part_texts(part(documents, facts), 0, wanted))) == [
        (i, TEXTS[i], i) for i in range(4)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_texts_made_anew_take_the_place_of_old_ones(
    documents: str, tmp_path: Path, seed: int
) -> None:
    """Whichever are wanted: those that are not have their texts in the file all the same."""
    rng = random.Random(seed)
    size = rng.randint(1, len(TEXTS) - START)
    share = rng.choice([0.1, 0.5, 0.9, 1.0])
    kept, changed, wanted = (
        [rng.random() < chance for _ in range(size)] for chance in (0.7, rng.random(), share)
    )
    facts, path = write_changes(tmp_path, kept, changed)
    blocks = list(part_texts(part(documents, facts, path), START, np.array(wanted)))
    expected = []
    for row in range(size):
        text = f"anew {row} ü" * (row % 3) if kept[row] and changed[row] else TEXTS[START + row]
        if wanted[row]:
            expected.append((row, text, START + row))
    assert found(blocks) == expected
