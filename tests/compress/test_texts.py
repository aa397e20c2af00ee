from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from barrow.compress.texts import sample_texts, token_rows
from barrow.errors import ScoreError
from barrow.tokens import ByteTokenizer


def written(path: Path, texts: dict[str, list[str]]) -> Path:
    lines = [
        {"text": text, "meta": {"pile_set_name": domain}}
        for domain, some in texts.items()
        for text in some
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_no_measured_text_was_calibrated_with(tmp_path: Path) -> None:
    """A text that is there several times too."""
    texts = {"A": [f"a{n}" for n in range(9)] + ["same"] * 4, "B": ["b1", "b2"]}
    found = sample_texts(written(tmp_path / "c.jsonl", texts), documents=6)
    calibrated = {text.decode() for some in found.calibration.values() for text in some}
    measured = [document.text for document in found.measured.documents]
    assert calibrated
    assert measured
    assert not calibrated & set(measured)
    assert {d.meta["pile_set_name"] for d in found.measured.documents} == {"A", "B"}
    assert len(found.calibration["A"]) == 6
    assert found.note is None


def test_splits_are_used_where_there_are_any(tmp_path: Path) -> None:
    for split in ("validation", "test"):
        (tmp_path / split).mkdir()
        written(tmp_path / split / "s.jsonl", {"A": [f"{split} {n}" for n in range(3)]})
    found = sample_texts(tmp_path)
    assert {t.decode().split()[0] for t in found.calibration["A"]} == {"validation"}
    assert {d.text.split()[0] for d in found.measured.documents} == {"test"}


def test_other_domains_are_said(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", {"A": ["x"], "B": ["y"]})
    other = written(tmp_path / "other.jsonl", {"A": ["z"], "C": ["w"]})
    found = sample_texts(one, other)
    assert found.note == ("calibration saw no text of C, which is measured; it saw B, which is not")


def test_too_little_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="too little text"):
        sample_texts(written(tmp_path / "c.jsonl", {"A": ["alone"]}))
    with pytest.raises(ValueError, match="must be ≥ 1, got 0"):
        sample_texts(tmp_path, documents=0)


def test_long_texts_are_cut_between_characters(tmp_path: Path) -> None:
    found = sample_texts(written(tmp_path / "c.jsonl", {"A": ["é" * 10, "ab"]}), most_bytes=5)
    assert found.calibration["A"] == ["éé".encode()]


def test_rows_are_as_many_of_each_domain() -> None:
    texts = {"A": [b"aaaa" * 50], "B": [b"bb"], "C": [b"cccc" * 50]}
    rows = token_rows(texts, ByteTokenizer(), rows=7, length=10)
    assert rows.shape == (7, 10)
    letters = ["".join(sorted({chr(i) for i in row if i < 256})) for row in rows]
    assert letters == ["a", "b", "c", "a", "b", "c", "a"]
    assert rows[1].tolist() == [256, 98, 98, 256, 98, 98, 256, 98, 98, 256] or 98 in rows[1]
    assert rows.dtype == np.int32
