from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import barrow
from barrow.errors import DamagedShard


def test_sizes_and_checksums(folder: Path) -> None:
    """PILE-11: checksums for every shard."""
    saved = json.loads((folder / "archive.json").read_text())
    assert (saved["format"], saved["version"]) == ("barrow-archive", 1)
    for row in saved["shards"]:
        data = (folder / row["name"]).read_bytes()
        assert row["bytes"] == len(data)
        assert row["sha256"] == hashlib.sha256(data).hexdigest()
        assert row["documents"] == len(barrow.archive.open(folder / row["name"]))
    assert barrow.archive.read_catalog(str(folder)).documents == 1000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a catalog"),
        ("[]", "not a catalog"),
        ('{"shards":[],"extra":1}', "unknown field"),
        ('{"shards":[],"version":2}', "version 2"),
        ('{"shards":[],"format":"zip"}', "'zip'"),
    ],
)
def test_a_damaged_catalog(text: str, words: str, folder: Path) -> None:
    (folder / "archive.json").write_text(text)
    with pytest.raises(DamagedShard, match=words) as error:
        barrow.archive.open(folder)
    assert error.value.reason == "bad-catalog"
    assert not barrow.archive.verify(folder).ok


@pytest.mark.parametrize("name", ["../outside.jsonl.zst", "/etc/passwd", "..", "", "link"])
def test_a_catalog_cannot_lead_out_of_its_folder(name: str, folder: Path, tmp_path: Path) -> None:
    (folder / "link").symlink_to(tmp_path / "elsewhere.jsonl.zst")
    saved = json.loads((folder / "archive.json").read_text())
    saved["shards"][0]["name"] = name
    (folder / "archive.json").write_text(json.dumps(saved))
    with pytest.raises(DamagedShard, match="leads out of the folder"):
        barrow.archive.open(folder)
