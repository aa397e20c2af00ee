from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.corpus.readers.reader import Reject
from barrow.corpus.readers.records import Records


def test_our_own_archives(write: Callable[..., Path], documents: list[Document]) -> None:
    path = write(documents)
    read_back = list(Records().read(path))
    assert [item.text for item in read_back] == [d.text for d in documents]  # type: ignore[union-attr]
    assert read_back[7].meta == {"member": "7", **documents[7].meta}  # type: ignore[union-attr]


def test_foreign_records_and_their_faults(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"content":"a","id":1}\nbad\n{"content":2}\n{"content":"b"}\n')
    items = list(Records(text_key="content").read(path))
    assert [i.text for i in items if isinstance(i, Document)] == ["a", "b"]
    rejects = [i for i in items if isinstance(i, Reject)]
    assert [(r.reason, r.member, r.excerpt) for r in rejects] == [
        ("not-json", "1", "bad"),
        ("text-not-string", "2", '{"content":2}'),
    ]


def test_damage(tmp_path: Path, write: Callable[..., Path], documents: list[Document]) -> None:
    path = write(documents)
    path.write_bytes(path.read_bytes()[:-100])
    items = list(Records().read(path))
    assert [i.reason for i in items if isinstance(i, Reject)] == ["no-seek-table", "corrupt"]
    assert sum(isinstance(i, Document) for i in items) == 1000
    (tmp_path / "x.unknown").write_text("?")
    (reject,) = Records().read(tmp_path / "x.unknown")
    assert isinstance(reject, Reject)
    assert next(Records().read(tmp_path / "none.jsonl")).reason == "unreadable"  # type: ignore[union-attr]


def test_many_faults_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("bad\n" * 5000 + json.dumps({"text": "good"}))
    items = list(Records().read(path))
    assert [i.text for i in items if isinstance(i, Document)] == ["good"]
    assert items[-2].reason == "too-many-bad-records" or items[-1].reason == "too-many-bad-records"  # type: ignore[union-attr]


@given(st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    for name in ("x.jsonl", "x.json", "x.jsonl.zst", "x.jsonl.gz", "x.parquet"):
        (tmp_path / name).write_bytes(data)
        for item in Records().read(tmp_path / name):
            assert isinstance(item, Document | Reject)
