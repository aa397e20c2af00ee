from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.killed import Act, killed_at, killed_when, moments

import barrow
from barrow import Document
from barrow.archive import Writer
from barrow.errors import BadRecord, WriteFailed

texts = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
any_documents = st.lists(
    st.builds(Document, texts, st.dictionaries(texts, json_values, max_size=4)), max_size=20
)


@few
@given(any_documents, st.integers(1, 500), st.sampled_from([1, 3]), st.integers(-3, 5))
def test_what_is_written_is_read(
    tmp_path: Path, documents: list[Document], frame_size: int, threads: int, level: int
) -> None:
    path = tmp_path / "x.jsonl.zst"
    with Writer(
        path, frame_size=frame_size, threads=threads, level=level, overwrite=True
    ) as writer:
        writer.extend(documents)
        assert writer.num_documents == len(documents)
    archive = barrow.archive.open(path)
    assert list(archive) == documents
    assert len(archive) == len(documents)
    assert [d for block in archive.blocks() for d in block.documents()] == documents
    assert [archive[i] for i in range(len(documents))] == documents
    assert barrow.archive.verify(path, deep=True).ok


@few
@given(any_documents, st.integers(1, 300), st.integers(1, 1000))
def test_folders_too(
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[Document],
    frame_size: int,
    shard_size: int,
) -> None:
    folder = tmp_path_factory.mktemp("folder") / "archive"
    with Writer(folder, frame_size=frame_size, shard_size=shard_size) as writer:
        writer.extend(documents)
    assert list(barrow.archive.open(folder)) == documents
    result = barrow.archive.verify(folder, deep=True)
    assert result.ok
    assert result.num_documents == len(documents)


def test_the_bytes_do_not_depend_on_threads(tmp_path: Path, documents: list[Document]) -> None:
    digests = set()
    for threads in (1, 2, 4):
        path = tmp_path / f"{threads}.jsonl.zst"
        with Writer(path, frame_size=3000, threads=threads) as writer:
            writer.extend(documents)
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_other_programs_read_it(folder: Path, documents: list[Document]) -> None:
    """PILE-4: every other reader of jsonl.zst; daft alone stops after the first frame."""
    import io
    import json

    import duckdb
    import polars
    import pyarrow
    import pyarrow.json
    import zstandard

    texts = [d.text for d in documents]
    shards = sorted(folder.glob("*.jsonl.zst"))
    assert len(shards) > 2
    lines = b""
    for path in shards:
        with path.open("rb") as file:
            stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            lines += io.BufferedReader(stream).read()
    assert [json.loads(line)["text"] for line in lines.splitlines()] == texts
    read = polars.concat([polars.read_ndjson(path) for path in shards], how="diagonal_relaxed")
    assert read["text"].to_list() == texts
    arrow = [
        pyarrow.json.read_json(pyarrow.CompressedInputStream(pyarrow.OSFile(str(p)), "zstd"))
        for p in shards
    ]
    assert [t for table in arrow for t in table["text"].to_pylist()] == texts
    query = f"select text from read_json('{folder}/*.jsonl.zst', format='newline_delimited')"
    assert sorted(row[0] for row in duckdb.sql(query).fetchall()) == sorted(texts)


def test_the_zstd_program_reads_it(shard: Path, documents: list[Document]) -> None:
    import json
    import shutil

    if shutil.which("zstd") is None:
        pytest.skip("there is no zstd program on this machine")
    out = subprocess.run(["zstd", "-dc", str(shard)], capture_output=True, check=True).stdout
    assert [json.loads(line)["text"] for line in out.splitlines()] == [d.text for d in documents]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (Document("a\ud800"), "unpaired-surrogate"),
        (Document("a", {"k": "\udfff"}), "unpaired-surrogate"),
        (Document("a", {"\ud800": 1}), "unpaired-surrogate"),
        (Document(3), "text-not-string"),  # type: ignore[arg-type]
        (Document("a", None), "meta-not-object"),  # type: ignore[arg-type]
        (Document("a", {"deep": [{"x": float("nan")}]}), "not-finite"),
        (Document("a", {"x": float("inf")}), "not-finite"),
        (Document("a", {"x": object()}), "not-json"),
        (Document("x" * 2000), "too-long"),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_no_trace(
    document: Document, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl.zst"
    with Writer(path, max_document=1000) as writer:
        writer.add(Document("before"))
        with pytest.raises(BadRecord, match="x.jsonl.zst, document 1: ") as error:
            writer.add(document)
        assert error.value.reason == reason
        writer.add(Document("after", {"null": None, "text": "null"}))
    assert [d.text for d in barrow.archive.open(path)] == ["before", "after"]


def test_a_cyclic_meta(tmp_path: Path) -> None:
    meta: dict = {}
    meta["self"] = meta
    with Writer(tmp_path / "x.jsonl.zst") as writer, pytest.raises(BadRecord, match="recursion"):
        writer.add(Document("a", meta))


def test_only_documents_are_written(tmp_path: Path) -> None:
    with (
        Writer(tmp_path / "x.jsonl.zst") as writer,
        pytest.raises(TypeError, match="barrow.Document"),
    ):
        writer.add({"text": "a"})  # type: ignore[arg-type]


def test_an_exception_leaves_everything_as_it_was(
    tmp_path: Path, documents: list[Document]
) -> None:
    with pytest.raises(RuntimeError), Writer(tmp_path / "x.jsonl.zst", frame_size=100) as writer:
        writer.extend(documents)
        raise RuntimeError
    with (
        pytest.raises(RuntimeError),
        Writer(tmp_path / "a", frame_size=100, shard_size=500) as writer,
    ):
        writer.extend(documents)
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_forgotten_writer_leaves_nothing(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "x.jsonl.zst")
    writer.add(Document("a"))
    del writer
    assert list(tmp_path.iterdir()) == []


def test_the_name_appears_at_the_end(tmp_path: Path, documents: list[Document]) -> None:
    path = tmp_path / "x.jsonl.zst"
    with Writer(path, frame_size=100) as writer:
        writer.extend(documents)
        assert not path.exists()
    assert path.exists()
    with pytest.raises(ValueError, match="closed"):
        writer.add(Document("late"))


def test_nothing_is_replaced_unasked(shard: Path, folder: Path) -> None:
    with pytest.raises(FileExistsError, match="overwrite=True"):
        Writer(shard)
    with pytest.raises(FileExistsError, match="append=True"):
        Writer(folder)
    with pytest.raises(ValueError, match="one shard cannot grow"):
        Writer(shard, append=True)
    with pytest.raises(ValueError, match="remove the folder yourself"):
        Writer(folder, overwrite=True)
    with Writer(shard, overwrite=True) as writer:
        writer.add(Document("new"))
    assert list(barrow.archive.open(shard)) == [Document("new")]


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    """Shards of The Pile are named by numbers too; nobody may take them for leftovers."""
    (tmp_path / "00000.jsonl.zst").write_bytes(b"somebody's")
    with pytest.raises(FileExistsError, match="contains other files"):
        Writer(tmp_path)
    assert (tmp_path / "00000.jsonl.zst").read_bytes() == b"somebody's"


def test_append(folder: Path, documents: list[Document]) -> None:
    before = {path.name: path.read_bytes() for path in folder.glob("*.zst")}
    with Writer(folder, append=True, shard_size=60_000) as writer:
        writer.extend(documents[:300])
    assert list(barrow.archive.open(folder)) == documents + documents[:300]
    assert barrow.archive.verify(folder).ok
    after = {path.name: path.read_bytes() for path in folder.glob("*.zst")}
    assert {name: after[name] for name in before} == before
    assert len(after) > len(before)


def test_a_failed_append_leaves_the_archive(folder: Path, documents: list[Document]) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with (
        pytest.raises(RuntimeError),
        Writer(folder, append=True, shard_size=1000, frame_size=500) as writer,
    ):
        writer.extend(documents)
        raise RuntimeError
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with Writer(tmp_path / "a") as writer:
        writer.add(Document("a"))
        with pytest.raises(FileExistsError, match="another process"):
            Writer(tmp_path / "a")
    assert list(barrow.archive.open(tmp_path / "a")) == [Document("a")]


@pytest.mark.parametrize(
    "options",
    [{"level": 99}, {"level": -(10**6)}, {"threads": 0}, {"frame_size": 0}, {"shard_size": 0}],
)
def test_wrong_arguments(options: dict, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="level|must be ≥ 1"):
        Writer(tmp_path / "x.jsonl.zst", **options)
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        Writer(tmp_path / "no" / "x.jsonl.zst")
    with pytest.raises(ValueError, match="only written to local disks"):
        Writer("s3://bucket/x.jsonl.zst")


@pytest.mark.parametrize("name", ["x.jsonl.zst", "folder"])
def test_a_disk_that_fills(name: str, tmp_path: Path) -> None:
    """A real limit on file size stands in for a full disk: the kernel refuses the write."""
    code = f"""
import resource, signal, random, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
import barrow
from barrow import Document
rng = random.Random(0)
try:
    with barrow.archive.Writer({str(tmp_path / name)!r}, frame_size=50_000) as writer:
        for _ in range(100):
            writer.add(Document(rng.randbytes(10_000).hex()))
except barrow.errors.WriteFailed as error:
    print(error)
    sys.exit(7)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 7, run.stderr
    assert "cannot write" in run.stdout
    assert "nothing was left" in run.stdout
    assert list(tmp_path.iterdir()) == []


def test_no_space_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(WriteFailed, match="No space left on device"),
        Writer(tmp_path / "x.jsonl.zst") as writer,
    ):
        writer.add(Document("a"))
    assert list(tmp_path.iterdir()) == []


def write_some(path: Path, *, append: bool = False, last: int = 400) -> None:
    """Write 400 documents, or die after the `last`."""
    with Writer(path, frame_size=2000, shard_size=20_000, append=append) as writer:
        for n in range(400):
            if n == last:
                os._exit(9)
            writer.add(Document(f"{n} " * 50))


def check_kills(
    tmp_path: Path, steps: Callable[[Act], Iterable[int]], lasts: Iterable[int]
) -> None:
    """Kill -9: a file is whole or not there; an archive is as before, or has all that was added."""
    path, folder = tmp_path / "x.jsonl.zst", tmp_path / "archive"

    def check_file() -> None:
        assert not path.exists() or len(barrow.archive.open(path)) == 400
        path.unlink(missing_ok=True)

    def check_folder() -> None:
        listed = barrow.archive.open(folder)
        assert listed[0] == Document("first")
        assert not barrow.archive.open(folder, on_bad="raise").bad.counts
        assert len(listed) in (1, 401)
        with Writer(folder, append=True) as writer:
            writer.add(Document("last"))
        assert barrow.archive.verify(folder, deep=True).ok, "leftovers of the killed one are gone"
        assert not [path for path in folder.iterdir() if path.name.endswith(".writing")]
        assert barrow.archive.open(folder)[-1] == Document("last")
        start()

    def start() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        with Writer(folder) as writer:
            writer.add(Document("first"))

    start()
    for place, append, check in ((path, False, check_file), (folder, True, check_folder)):
        act = partial(write_some, place, append=append)
        chosen = steps(act)
        check()
        for step in chosen:
            died = killed_at(step, act)
            check()
            if not died:
                break
        for last in lasts:
            assert killed_when(lambda _: False, partial(act, last=last))
            check()


def test_killed_before_each_kind_of_change(tmp_path: Path) -> None:
    check_kills(tmp_path, moments, lasts=[0, 399])


@pytest.mark.soak
def test_killed_at_every_change(tmp_path: Path) -> None:
    check_kills(tmp_path, lambda _: itertools.count(1), lasts=range(0, 400, 7))


def test_a_killed_first_write_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    assert killed_when(lambda _: False, lambda: write_some(folder, last=399))
    with pytest.raises(barrow.errors.DamagedShard, match="has not finished, or was killed"):
        barrow.archive.open(folder)
    with Writer(folder) as writer:
        writer.add(Document("again"))
    assert list(barrow.archive.open(folder)) == [Document("again")]
    assert barrow.archive.verify(folder).ok


def limited(size: int | None) -> None:
    """Let no file grow past a size: the kernel then refuses to write, as on a full disk."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def test_nothing_is_published_after_a_failed_write(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.zst"
    writer = Writer(path, frame_size=100)
    limited(300)
    try:
        with pytest.raises(WriteFailed):
            writer.extend(Document(os.urandom(100).hex()) for _ in range(100))
    finally:
        limited(None)
    writer.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="discarded"):
        writer.add(Document("late"))


def test_a_disk_that_fills_at_the_catalog(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    writer = Writer(folder, shard_size=1, frame_size=1)
    writer.extend(Document(f"{n}") for n in range(30))
    limited(1000)
    try:
        with pytest.raises(WriteFailed):
            writer.close()
    finally:
        limited(None)
    assert list(tmp_path.iterdir()) == []


def test_two_writers_of_one_shard(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.zst"
    first, second = Writer(path, frame_size=1), Writer(path, frame_size=1)
    for n in range(5):
        first.add(Document(f"first {n}"))
        second.add(Document(f"second {n}"))
    first.close()
    with pytest.raises(FileExistsError, match="created by another process meanwhile"):
        second.close()
    assert [d.text for d in barrow.archive.open(path)] == [f"first {n}" for n in range(5)]
    assert barrow.archive.verify(path).ok
    assert [p.name for p in tmp_path.iterdir()] == ["x.jsonl.zst"]


def test_what_fails_after_the_commit_takes_nothing_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from barrow.archive import catalog
    from barrow.archive import writer as writer_module

    def interrupted(folder: Path, content: barrow.archive.Catalog) -> None:
        catalog.write_catalog(folder, content)
        raise KeyboardInterrupt

    monkeypatch.setattr(writer_module, "write_catalog", interrupted)
    writer = Writer(folder, append=True)
    writer.add(Document("appended"))
    with pytest.raises(KeyboardInterrupt):
        writer.close()
    assert barrow.archive.open(folder)[-1] == Document("appended")
    assert barrow.archive.verify(folder).ok


def test_append_never_reuses_a_name(folder: Path) -> None:
    """The first shard may be gone from the list, as after a takedown."""
    import msgspec

    from barrow.archive.catalog import write_catalog

    old = barrow.archive.read_catalog(str(folder))
    (folder / old.shards[0].name).unlink()
    write_catalog(folder, msgspec.structs.replace(old, shards=old.shards[1:]))
    before = {path.name: path.read_bytes() for path in folder.glob("*.zst")}
    with Writer(folder, append=True) as writer:
        writer.add(Document("more"))
    after = {path.name: path.read_bytes() for path in folder.glob("*.zst")}
    assert {name: after[name] for name in before} == before
    assert barrow.archive.open(folder)[-1] == Document("more")


def test_a_forked_child_leaves_its_parents_writer_alone(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "archive", shard_size=1, frame_size=1)
    writer.add(Document("a"))
    child = os.fork()
    if child == 0:
        writer.discard()
        writer.__del__()
        os._exit(0)
    os.waitpid(child, 0)
    writer.add(Document("b"))
    writer.close()
    assert list(barrow.archive.open(tmp_path / "archive")) == [Document("a"), Document("b")]


def test_no_shard_is_empty(tmp_path: Path) -> None:
    with Writer(tmp_path / "archive", shard_size=1, frame_size=1) as writer:
        writer.extend([Document("a"), Document("b")])
    catalog = barrow.archive.read_catalog(str(tmp_path / "archive"))
    assert [shard.documents for shard in catalog.shards] == [1, 1]


def test_raw_json_cannot_break_a_line(tmp_path: Path) -> None:
    import msgspec

    with Writer(tmp_path / "x.jsonl.zst") as writer:
        with pytest.raises(BadRecord, match="line break"):
            writer.add(Document("a", {"x": msgspec.Raw(b'{\n"a":1}')}))
        with pytest.raises(BadRecord, match="keys of meta"):
            writer.add(Document("a", {1: 1, "1": 2}))  # type: ignore[dict-item]
        with pytest.raises(BadRecord, match="finite"):
            writer.add(Document("a", {"x": {float("nan")}}))
