from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.archive import Writer
from barrow.corpus.readers.reader import Item, Reject
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


LINES = [
    b"\xef\xbb\xbf" + json.dumps({"text": "first", "meta": {"n": 1}}).encode(),
    b"",
    b"  \t\r",
    *(json.dumps({"text": f"text {n} " * (n % 9), "meta": {"n": n}}).encode() for n in range(40)),
    b"not JSON",
    b'{"text": 5}',
    b'{"text": "' + b"long" * 400 + b'"}',
    b" " * 1700,
    json.dumps({"text": "é\u2028 last"}, ensure_ascii=False).encode(),
]


def is_reject(item: Item) -> bool:
    return isinstance(item, Reject)


def frames(content: bytes, size: int) -> bytes:
    """Frames that end anywhere, one of them empty, with something to skip in between."""
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    zstd = zstandard.ZstdCompressor(write_checksum=True)
    packed = [zstd.compress(part) for part in (*parts[:2], b"", *parts[2:])]
    return (b"\x50\x2a\x4d\x18\x03\0\0\0abc").join(packed)


@pytest.mark.parametrize("ending", [b"", b"\n", b"\n\n"])
@pytest.mark.parametrize("form", ["plain", "frames 300", "frames 7000", "frame", "shard"])
def test_a_file_in_parts_gives_the_same_documents(tmp_path: Path, form: str, ending: bytes) -> None:
    """PILE-1: a large file is many tasks, and nothing of that can be seen afterwards."""
    content = b"\n".join(LINES) + ending
    path = tmp_path / ("x.jsonl" if form == "plain" else "x.jsonl.zst")
    if form == "shard":
        with Writer(path, frame_size=500) as writer:
            writer.extend(Document(f"text {n} " * 30, {"n": n}) for n in range(60))
    elif form == "plain":
        path.write_bytes(content)
    else:
        path.write_bytes(frames(content, int(form[7:] or 1 << 20)))
    reader = Records(max_document=1500)
    whole = sorted(reader.read(path), key=is_reject)  # which come before the documents of a piece
    assert sum(isinstance(item, Document) for item in whole) > 40
    most = 0
    for target in (1, 2, 50, 299, 300, 301, 1000, 4000, 1 << 30):
        spans = reader.spans(path, target)
        parts = [item for span in spans for item in reader.read_span(path, span)]
        assert not spans or sorted(parts, key=is_reject) == whole
        most = max(most, len(spans))
    assert spans == []
    assert (most > 5) == (form in ("plain", "frames 300", "shard"))


def test_what_cannot_be_cut(tmp_path: Path) -> None:
    content = b"\n".join(LINES)
    damaged = bytearray(frames(content, 300))
    damaged[700] ^= 0xFF
    for name, data in (
        ("damaged.jsonl.zst", bytes(damaged)),
        ("cut.jsonl.zst", frames(content, 300)[:-9]),
        ("packed.jsonl", frames(content, 300)),
        ("a.jsonl.gz", gzip.compress(content)),
        ("a.json", b"[" + LINES[3] + b"]"),
        ("empty.jsonl", b""),
    ):
        (tmp_path / name).write_bytes(data)
        assert Records().spans(tmp_path / name, 100) == [], name
    assert Records().spans(tmp_path / "none.jsonl", 100) == []


@given(st.binary(max_size=300), st.integers(1, 300))
def test_any_bytes_in_parts(tmp_path: Path, data: bytes, target: int) -> None:
    for name, packed in (("y.jsonl", data), ("y.jsonl.zst", frames(data, 1 + target // 3))):
        (tmp_path / name).write_bytes(packed)
        spans = Records().spans(tmp_path / name, target)
        parts = [i for span in spans for i in Records().read_span(tmp_path / name, span)]
        whole = sorted(Records().read(tmp_path / name), key=is_reject)
        assert not spans or sorted(parts, key=is_reject) == whole


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
    named = [d.meta.get("pile_set_name") for d in Records(domain_key="doc.uuid").read(path)]  # type: ignore[union-attr]
    assert named == ["u1", "Named", "dotted"]


def test_a_sample_is_chosen_by_the_texts(tmp_path: Path) -> None:
    texts = [f"text number {n}" for n in range(400)]
    paths = [tmp_path / "x.jsonl", tmp_path / "y.jsonl"]
    for path, some in zip(paths, (texts, texts[::-1]), strict=True):
        path.write_text("\n".join(json.dumps({"text": text}) for text in some))
    items = [list(Records(sample=0.25).read(path)) for path in paths]
    first, other = (
        {d.text: d.meta["member"] for d in found if isinstance(d, Document)} for found in items
    )
    assert first.keys() == other.keys()
    assert 60 < len(first) < 140
    assert all(texts[int(member)] == text for text, member in first.items()), "numbers of the file"
    # Nothing is lost silently.
    left_out = [item for item in items[0] if isinstance(item, Reject)]
    assert {item.reason for item in left_out} == {"not-sampled"}
    assert {int(item.member) for item in left_out} | {int(m) for m in first.values()} == set(
        range(400)
    )
