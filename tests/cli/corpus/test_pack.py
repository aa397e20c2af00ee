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
    assert barrow("verify", out, "--deep").code == 0
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
    given = ("--out", out, "--on-bad", "count", "--rejects", tmp_path / "r")
    code, _, err = barrow("corpus", "pack", path, *given)
    assert code == 0
    assert "1 × unpaired-surrogate" in err
    assert [d.text for d in package.archive.open(out)] == ["a", "b"]
    assert json.loads((tmp_path / "r").read_text())["document"] == 1
    assert barrow("corpus", "pack", path, *given).code == 1
    assert (tmp_path / "r").read_text(), "what is refused leaves the rejects of the first call"


def test_parquet_and_back(barrow: Callable, tmp_path: Path) -> None:
    """PILE-5: a corpus as Parquet, refined again: the same texts, and ids that lead back."""
    source, corpus, out = tmp_path / "x.jsonl", tmp_path / "corpus", tmp_path / "parquet"
    records = [{"text": f"Document number {n}. " * 9, "url": f"http://a/{n}"} for n in range(90)]
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    plain = ("--workers", 0, "filters=[]", "deduplication=null")
    splits = ("splits.validation=0.2", "splits.test=0.1")
    code, _, err = barrow(
        *("build", "refine", "--source", source, "--out", corpus, *plain, *splits),
        *("shard_size=9000", "reader.domain=Numbers"),
    )
    assert code == 0, err
    code, text, err = barrow("corpus", "pack", corpus, "--out", out, "--parquet")
    assert (code, text, err) == (0, f"90 documents → {out}\n", "")
    shards = {
        split: [p.name.split(".")[0] for p in sorted(folder.glob("*.jsonl.zst"))]
        for split, folder in {"train": corpus, "test": corpus / "test"}.items()
    }
    assert len(shards["train"]) > 1
    for split, names in shards.items():
        assert [p.name for p in sorted((out / split).iterdir())] == [f"{n}.parquet" for n in names]
    train = list(package.archive.open(corpus))
    assert list(package.archive.open(out / "train")) == train

    again = tmp_path / "again"
    code, _, err = barrow(
        *("build", "refine", "--source", out, "--out", again, *plain),
        *("splits.validation=0", "splits.test=0"),
    )
    assert code == 0, err
    both = {d.meta["record.id"]: d for d in package.archive.open(again)}
    for document in train:
        copy = both[document.meta["id"]]
        assert copy.text == document.text
        for key in ("url", "pile_set_name", "licence"):
            assert copy.meta[key] == document.meta[key]
        for key in ("source", "raw_sha256", "extractor", "decisions"):
            assert copy.meta[f"record.{key}"] == document.meta[key]
    assert len(both) == 90

    code, _, err = barrow("corpus", "pack", corpus, "--out", out, "--parquet")
    assert (code, "exists; pass --overwrite" in err) == (1, True)
    stale = out / "train" / "00009-0123abcd.parquet"
    stale.write_bytes(b"of a shard that is gone")
    (out / "train" / "mine.parquet").touch()
    assert barrow("corpus", "pack", corpus, "--out", out, "--parquet", "--overwrite").code == 0
    assert not stale.exists(), "it may have what was taken down"
    assert (out / "train" / "mine.parquet").exists()
    code, _, err = barrow("corpus", "pack", corpus, "--out", corpus / "parquet", "--parquet")
    assert (code, "must not be inside" in err) == (2, True)


def test_parquet_of_any_records(barrow: Callable, tmp_path: Path) -> None:
    inputs, out = foreign(tmp_path), tmp_path / "one.parquet"
    code, text, _ = barrow(
        "corpus", "pack", *inputs, "--out", out, "--text-key", "content", "--json"
    )
    assert (code, json.loads(text)) == (0, {"out": str(out), "documents": 51, "bad": {}})
    expected = [*(Document(f"a{n}", {"n": n}) for n in range(50)), Document("b")]
    assert list(package.archive.open(out)) == expected
    folder = tmp_path / "folder"
    arguments = ("--text-key", "content", "--parquet", "--shard-size", 60)
    assert barrow("corpus", "pack", *inputs, "--out", folder, *arguments).code == 0
    assert len([*folder.iterdir()]) > 1
    assert list(package.archive.open(folder)) == expected
