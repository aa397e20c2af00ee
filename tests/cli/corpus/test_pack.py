from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import barrow as package
from barrow import Document


def foreign(tmp_path: Path) -> list[Path]:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    first.write_text("".join(json.dumps({"content": f"a{n}", "n": n}) + "\n" for n in range(50)))
    second.write_bytes(gzip.compress(b'{"content":"b"}\n'))
    return [first, second]


def test_foreign_files_to_an_archive(barrow: Callable, tmp_path: Path) -> None:
    inputs = foreign(tmp_path)
    out = tmp_path / "out"
    code, text, _ = barrow("corpus", "pack", *inputs, "--out", out, "--text-key", "content")
    assert (code, text) == (0, f"51 documents → {out}\n")
    expected = [*(Document(f"a{n}", {"n": n}) for n in range(50)), Document("b")]
    assert list(package.archive.open(out)) == expected
    assert barrow("corpus", "verify", out, "--deep").code == 0
    code, text, _ = barrow(
        "corpus", "pack", inputs[1], "--out", out, "--append", "--text-key", "content", "--json"
    )
    assert json.loads(text) == {"out": str(out), "documents": 1, "bad": {}}
    assert list(package.archive.open(out)) == [*expected, Document("b")]


def test_one_shard(barrow: Callable, shard: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy.jsonl.zst"
    assert barrow("corpus", "pack", shard, "--out", out, "--level", 9, "--threads", 1).code == 0
    assert list(package.archive.open(out)) == list(package.archive.open(shard))
    code, _, err = barrow("corpus", "pack", shard, "--out", out)
    assert code == 1
    assert "exists" in err
    assert barrow("corpus", "pack", shard, "--out", out, "--overwrite").code == 0


def test_bad_input(barrow: Callable, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text":"a"}\n{"text":"\\ud800"}\n{"text":"b"}\n')
    out = tmp_path / "out.jsonl.zst"
    code, _, err = barrow("corpus", "pack", path, "--out", out)
    assert code == 1
    assert "document 1" in err
    assert not out.exists()
    code, _, err = barrow(
        "corpus", "pack", path, "--out", out, "--on-bad", "count", "--rejects", tmp_path / "r"
    )
    assert code == 0
    assert "1 × unpaired-surrogate" in err
    assert [d.text for d in package.archive.open(out)] == ["a", "b"]
    assert json.loads((tmp_path / "r").read_text())["document"] == 1
