from __future__ import annotations

from pathlib import Path

import pytest

from barrow.errors import NotFound
from barrow.stream.pairs.sources.open import pair_source


def test_kinds(tmp_path: Path) -> None:
    for name in ("t/b.tar", "t/a.tar", "p/x/a.parquet", "f/x/a.png", "j/a.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    told = [pair_source(tmp_path / name) for name in ("t", "t/a.tar", "p", "f", "j/a.jsonl")]
    assert [(one.kind, one.name, len(one.files)) for one in told] == [
        ("tars", "t", 2),
        ("tars", "a", 1),
        ("parquet", "p", 1),
        ("folder", "f", 0),
        ("jsonl", "a", 1),
    ]
    assert [file.name for file in told[0].files] == ["a.tar", "b.tar"]


def test_what_is_no_source(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"")
    with pytest.raises(ValueError, match="expected a folder, .tar, .parquet or .jsonl"):
        pair_source(tmp_path / "a.zip")
    with pytest.raises(NotFound, match="the folder has no images, no .tar and no .parquet"):
        pair_source(tmp_path)
    with pytest.raises(NotFound, match="no such file or folder"):
        pair_source(tmp_path / "none")
