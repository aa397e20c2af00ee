"""Files that others wrote."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import barrow
from barrow import Document
from barrow.archive.foreign.files import whole_lines
from barrow.errors import BadRecord, DamagedShard


def as_lines(documents: Iterable[Document]) -> bytes:
    rows = ({"text": d.text, "meta": d.meta} for d in documents)
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def as_zstd(data: bytes, frame_size: int | None = None) -> bytes:
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    step = frame_size or len(data) or 1
    return b"".join(compressor.compress(data[i : i + step]) for i in range(0, len(data), step))


FORMS = {
    "plain.jsonl": lambda data: data,
    "plain.ndjson": lambda data: data,
    "no-final-newline.jsonl": lambda data: data.rstrip(b"\n"),
    "windows.jsonl": lambda data: data.replace(b"\n", b"\r\n"),
    "blank-lines.jsonl": lambda data: b"\n \n" + data.replace(b"\n", b"\n\n\t\n"),
    "one-frame.jsonl.zst": as_zstd,
    "lines-across-frames.jsonl.zst": lambda data: as_zstd(data, 1000),
    "tiny-frames.jsonl.zst": lambda data: as_zstd(data, 7),
    "one-member.jsonl.gz": gzip.compress,
    "members.jsonl.gz": lambda data: gzip.compress(data[:500]) + gzip.compress(data[500:]),
    "array.json": lambda data: b"[" + b",".join(data.splitlines()) + b"]",
    "pretty.json": lambda data: json.dumps(
        [json.loads(x) for x in data.splitlines()], indent=2
    ).encode(),
    "lines.json": lambda data: data,
    "array.json.gz": lambda data: gzip.compress(b"[" + b",".join(data.splitlines()) + b"]"),
    "array.json.zst": lambda data: as_zstd(b"[" + b",".join(data.splitlines()) + b"]"),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_read(
    name: str, tmp_path: Path, documents: list[Document], either_path: str
) -> None:
    documents = documents[:200]
    path = tmp_path / name
    path.write_bytes(FORMS[name](as_lines(documents)))
    archive = barrow.archive.open(path)
    assert list(archive) == documents
    assert len(archive) == len(documents)
    assert archive[150] == documents[150]
    assert archive[-1] == documents[-1]
    assert list(archive[30:40]) == documents[30:40]
    assert [d for rank in range(3) for d in archive.shard(rank, 3)] == documents
    assert [d for block in archive.blocks() for d in block.documents()] == documents
    assert [d for frame in archive.frames() for d in frame] == documents


def test_the_zstd_tool_writes_what_we_read(tmp_path: Path, documents: list[Document]) -> None:
    import shutil
    import subprocess

    if shutil.which("zstd") is None:
        pytest.skip("there is no zstd program on this machine")
    path = tmp_path / "x.jsonl"
    path.write_bytes(as_lines(documents))
    subprocess.run(["zstd", "-q", "-19", "-T2", str(path)], check=True)
    assert list(barrow.archive.open(tmp_path / "x.jsonl.zst")) == documents


@given(st.lists(st.binary(max_size=20)), st.integers(1, 30))
def test_lines_are_cut_at_line_ends_only(parts: list[bytes], limit: int) -> None:
    out = list(whole_lines((memoryview(part) for part in parts), 10**6))
    assert b"".join(out).rstrip() == b"".join(parts).rstrip()
    assert all(piece.endswith(b"\n") for piece in out[:-1])


def open_counting(path: Path) -> barrow.archive.Archive:
    return barrow.archive.open(path, on_bad="count")


def test_truncated_zstd(tmp_path: Path, documents: list[Document]) -> None:
    """The zstandard library itself ends such a file without a word."""
    path = tmp_path / "x.jsonl.zst"
    whole = as_zstd(as_lines(documents))
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        DamagedShard, match=r"x\.jsonl\.zst, frame 0, document \d+: .*middle of a zstandard frame"
    ) as e:
        list(barrow.archive.open(path))
    assert e.value.reason == "truncated"
    archive = open_counting(path)
    got = list(archive)
    assert got == documents[: len(got)]
    assert len(got) > 0
    assert archive.bad.counts["truncated"] == 1
    assert set(archive.bad.counts) <= {"truncated", "not-json"}


def test_a_damaged_frame_costs_that_frame_only(tmp_path: Path) -> None:
    frames = [as_zstd(as_lines([Document(f"{k} {i} " * 50) for i in range(20)])) for k in range(5)]
    bad = bytearray(frames[2])
    bad[len(bad) // 2] ^= 0xFF
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(b"".join([*frames[:2], bytes(bad), *frames[3:]]))
    with pytest.raises(DamagedShard, match="frame 2"):
        list(barrow.archive.open(path))
    archive = open_counting(path)
    kept = [d.text.split()[0] for d in archive]
    assert [kept.count(k) for k in "01234"] == [20, 20, kept.count("2"), 20, 20]
    assert archive.bad.counts["corrupt"] == 1


@pytest.mark.parametrize("position", range(4, 30))
def test_a_damaged_header_costs_that_frame_only(position: int, tmp_path: Path) -> None:
    frames = [as_zstd(as_lines([Document(f"{k} " * 500)])) for k in range(4)]
    bad = bytearray(frames[1])
    bad[position] ^= 0x55
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(b"".join([frames[0], bytes(bad), *frames[2:]]))
    archive = open_counting(path)
    assert [d.text[0] for d in archive if d.text[0] != "1"] == ["0", "2", "3"]
    assert len(archive.bad) >= 1


def test_garbage_after_the_last_frame(tmp_path: Path, documents: list[Document]) -> None:
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(as_zstd(as_lines(documents)) + b"\x00" * 100)
    with pytest.raises(DamagedShard):
        list(barrow.archive.open(path))
    archive = open_counting(path)
    assert list(archive) == documents
    assert len(archive.bad) == 1


def test_truncated_and_damaged_gzip(tmp_path: Path, documents: list[Document]) -> None:
    whole = gzip.compress(as_lines(documents))
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(whole[:-20])
    with pytest.raises(DamagedShard, match="middle of the gzip stream"):
        list(barrow.archive.open(path))
    damaged = bytearray(whole)
    damaged[-6] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(DamagedShard, match="does not decompress") as error:
        list(barrow.archive.open(path))
    assert error.value.reason == "corrupt"


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("x.jsonl.zst", b"{}\n{}\n", "expected zstandard, but the file begins with 7b 7d 0a 7b"),
        ("x.jsonl.zst", gzip.compress(b"{}"), "looks like gzip: name it .gz"),
        ("x.jsonl.gz", as_zstd(b"{}"), "looks like zstandard: name it .zst"),
        ("x.jsonl", as_zstd(b"{}"), "looks like zstandard"),
        ("x.jsonl", b"PAR1....", "looks like parquet"),
    ],
)
def test_wrong_magic(name: str, data: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DamagedShard, match=words) as error:
        list(barrow.archive.open(tmp_path / name))
    assert error.value.reason == "wrong-magic"


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.zst", "x.jsonl.gz", "x.json"])
def test_an_empty_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(DamagedShard, match="the file is empty") as error:
        list(barrow.archive.open(tmp_path / name))
    assert error.value.reason == "empty-file"


def test_a_name_that_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.docx").write_bytes(b"?")
    with pytest.raises(ValueError, match=r"expected a name ending in \.jsonl\.zst"):
        barrow.archive.open(tmp_path / "x.docx")


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.zst", "x.json"])
def test_a_line_over_the_limit_is_refused_and_passed_over(name: str, tmp_path: Path) -> None:
    rows = as_lines([Document("before"), Document("x" * 5_000_000), Document("after")])
    if name == "x.json":
        rows = b"[" + b",".join(rows.splitlines()) + b"]"
    (tmp_path / name).write_bytes(as_zstd(rows) if name.endswith("zst") else rows)
    with pytest.raises(BadRecord, match="longer than 3,000,000 bytes") as error:
        list(barrow.archive.open(tmp_path / name, max_document=3_000_000))
    assert (error.value.reason, error.value.document) == ("too-long", 1)
    archive = barrow.archive.open(tmp_path / name, max_document=3_000_000, on_bad="count")
    assert [d.text for d in archive] == ["before", "after"]
    assert archive.bad.counts == {"too-long": 1}
    assert len(archive) == 3


def write_repeated(path: Path, unit: bytes, times: int, before: bytes, after: bytes) -> None:
    compressor = zstandard.ZstdCompressor().compressobj()
    with path.open("wb") as file:
        file.write(compressor.compress(before))
        for _ in range(times):
            file.write(compressor.compress(unit))
        file.write(compressor.compress(after) + compressor.flush())


def peak_memory_of(code: str) -> float:
    """Peak resident MB of a fresh interpreter that runs the code."""
    import subprocess
    import sys

    code += "\nprint([l.split()[1] for l in open('/proc/self/status') if l.startswith('VmHWM')][0])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(run.stdout.split()[-1]) / 1024


def test_a_line_of_a_gibibyte_and_a_bomb(tmp_path: Path) -> None:
    """A kilobyte of zstandard that unpacks to 1 GiB without a line end, in bounded memory."""
    path = tmp_path / "bomb.jsonl.zst"
    before, after = b'{"text":"before"}\n{"text":"', b'"}\n{"text":"after"}\n'
    write_repeated(path, b"a" * (1 << 20), 1 << 10, before, after)
    assert path.stat().st_size < 200_000
    code = f"""
import barrow
archive = barrow.archive.open({str(path)!r}, on_bad="count", max_document=1 << 24)
assert [d.text for d in archive] == ["before", "after"]
assert archive.bad.counts == {{"too-long": 1}}
"""
    assert peak_memory_of(code) < 200


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """PILE-4: constant memory whatever the size."""
    line = json.dumps({"text": "some words " * 100, "meta": {"n": 1}}).encode() + b"\n"
    peaks = []
    for times in (200, 2000):
        path = tmp_path / f"{times}.jsonl.zst"
        write_repeated(path, line * 100, times, b"", b"")
        peaks.append(
            peak_memory_of(f"import barrow\nfor _ in barrow.archive.open({str(path)!r}): pass")
        )
    assert peaks[1] < 1.1 * peaks[0] + 4
    assert peaks[1] < 100


def test_reading_over_fsspec(documents: list[Document]) -> None:
    import fsspec

    with fsspec.open("memory://foreign/x.jsonl.zst", "wb") as file:
        file.write(as_zstd(as_lines(documents), 5000))
    assert list(barrow.archive.open("memory://foreign/x.jsonl.zst")) == documents
    assert list(barrow.archive.open("memory://foreign/*.zst")) == documents
    assert list(barrow.archive.open("memory://foreign")) == documents


def test_what_precedes_the_damage_is_kept(tmp_path: Path) -> None:
    lines = as_lines(Document(f"{n} " + "word " * 20) for n in range(5000))
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(lines)[:-20])
    assert len(list(open_counting(cut))) > 4000
    cut.write_bytes(gzip.compress(lines) + gzip.compress(lines)[:100])
    assert len(list(open_counting(cut))) >= 5000
    damaged = bytearray(zstandard.ZstdCompressor(level=1).compress(lines))
    damaged[len(damaged) * 9 // 10] ^= 0xFF
    path = tmp_path / "damaged.jsonl.zst"
    path.write_bytes(damaged)
    archive = open_counting(path)
    assert len(list(archive)) > 3000
    assert len(archive.bad) >= 1


@pytest.mark.parametrize("before", range(4))
def test_the_limit_does_not_depend_on_the_neighbours(before: int, tmp_path: Path) -> None:
    documents = [Document("b" * 400_000)] * before + [Document("x" * 700_000), Document("after")]
    path = tmp_path / "x.jsonl"
    path.write_bytes(as_lines(documents))
    archive = barrow.archive.open(path, on_bad="count", max_document=600_000)
    assert [len(d.text) for d in archive] == [400_000] * before + [5]
    assert archive.bad.counts == {"too-long": 1}


def test_a_file_that_unpacks_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.zst").write_bytes(as_zstd(b"x")[:0] + zstandard.compress(b""))
    (tmp_path / "y.jsonl.gz").write_bytes(gzip.compress(b""))
    for name in ("x.jsonl.zst", "y.jsonl.gz"):
        with pytest.raises(DamagedShard, match="the file is empty"):
            list(barrow.archive.open(tmp_path / name))


def test_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'\xef\xbb\xbf{"text":"a"}\n')
    assert list(barrow.archive.open(tmp_path / "x.jsonl")) == [Document("a")]
