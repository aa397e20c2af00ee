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


def test_own_ids_and_domains(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    records = [
        {"text": "a", "id": 1, "doc": {"uuid": "u1"}},
        {"text": "b", "doc": "flat", "meta": {"pile_set_name": "Named"}},
        {"text": "c", "doc": {"uuid": [1]}, "doc.uuid": "dotted"},
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    a, b, c = [item.meta for item in Records(id_key="doc.uuid", domain="Web").read(path)]  # type: ignore[union-attr]
    assert (a["id"], a["other_id"], a["doc"], a["pile_set_name"]) == (
        "u1",
        1,
        {"uuid": "u1"},
        "Web",
    )
    assert ("id" in b, b["pile_set_name"]) == (False, "Named"), "its own name stays"
    assert c["id"] == "dotted"
    assert next(Records().read(path)).meta["id"] == 1  # type: ignore[union-attr]


def test_a_sample_is_chosen_by_the_texts(tmp_path: Path) -> None:
    texts = [f"text number {n}" for n in range(400)]
    paths = [tmp_path / "x.jsonl", tmp_path / "y.jsonl"]
    for path, some in zip(paths, (texts, texts[::-1]), strict=True):
        path.write_text("\n".join(json.dumps({"text": text}) for text in some))
    first, other = (
        {d.text: d.meta["member"] for d in Records(sample=0.25).read(path)}  # type: ignore[union-attr]
        for path in paths
    )
    assert first.keys() == other.keys()
    assert 60 < len(first) < 140
    assert all(texts[int(member)] == text for text, member in first.items()), "numbers of the file"
