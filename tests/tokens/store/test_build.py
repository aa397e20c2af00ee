from __future__ import annotations

import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.killed import killed_at, moments
from tests.tokens.stores import SMALL, expected, files_of, held, some_documents, write_archive

import barrow
from barrow import Document
from barrow.engine import Engine, Progress
from barrow.errors import NotFound, StoreError, TaskFailed, WriteFailed
from barrow.files import disk, locked
from barrow.tokens import TokenStore, load, open_store
from barrow.tokens.store import encode, token_file
from barrow.tokens.store.array_file import read_rows
from barrow.tokens.store.store_file import Sizes
from barrow.tokens.store.verify import verify_store


def shard_files(store: TokenStore) -> dict[str, tuple[int, int]]:
    """Every array file with its inode and time of change."""
    return {
        path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in store.folder.glob("tokens-*")
    }


def append(archive: Path, documents: list[Document]) -> None:
    with barrow.archive.Writer(archive, append=True, frame_size=1000, shard_size=15_000) as writer:
        writer.extend(documents)


class Tally:
    """How many bytes each stage had to do."""

    def __init__(self) -> None:
        self.planned: dict[str, int] = {}
        self.done = 0
        self.progress = Progress(self.planned.__setitem__, self._add)

    def _add(self, num: int) -> None:
        self.done += num


def test_the_same_bytes_for_any_engine(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path
) -> None:
    """BEYOND-7: workers and engines do not show in the result."""
    found = make(archive, "three", engine=Engine(num_workers=3))
    assert files_of(found.folder) == files_of(store.folder)


def test_the_same_bytes_on_ray(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path
) -> None:
    found = make(archive, "ray", engine=Engine("ray", 2))
    assert files_of(found.folder) == files_of(store.folder)


def test_the_same_bytes_in_smaller_steps(
    store: TokenStore,
    make: Callable[..., TokenStore],
    archive: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(token_file, "read_rows", partial(read_rows, num_elements=7))
    assert files_of(make(archive, "steps").folder) == files_of(store.folder)


def test_a_plain_script_may_call_it(archive: Path, tmp_path: Path) -> None:
    """Without an engine nothing is spawned, so no script needs to guard its main part."""
    script = tmp_path / "script.py"
    script.write_text(
        "import barrow.tokens\n"
        f"store = barrow.tokens.tokenize({str(archive)!r}, out={str(tmp_path / 'new')!r},\n"
        "    tokenizer=barrow.tokens.load('bytes'))\n"
        "print(store.num_documents)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "300", done.stderr


def test_nothing_is_left_but_the_store(store: TokenStore) -> None:
    names = {path.name for path in store.folder.iterdir()}
    assert names == {"store.json", "tokenizer", *(file.name for file in store.manifest.files())}


def test_progress_adds_up(make: Callable[..., TokenStore], archive: Path) -> None:
    tally = Tally()
    make(archive, progress=tally.progress)
    assert list(tally.planned) == ["Tokenizing", "Joining", "Indexing"]
    assert tally.done == sum(tally.planned.values()) > 0


def test_a_second_run_does_nothing(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path
) -> None:
    before, tally = files_of(store.folder), Tally()
    stamps = shard_files(store)
    again = make(archive, progress=tally.progress)
    assert tally.planned == {"Tokenizing": 0, "Joining": 0, "Indexing": 0}
    assert files_of(again.folder) == before
    assert shard_files(again) == stamps


def test_a_corpus_that_grows(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path, documents: list[Document]
) -> None:
    """Appendable; what is full stays, what is new is all that is tokenized."""
    stamps = shard_files(store)
    old_bytes = sum(s.content_bytes for s in barrow.archive.read_catalog(str(archive)).shards)
    more = some_documents(150, seed=5)
    append(archive, more)
    all_bytes = sum(s.content_bytes for s in barrow.archive.read_catalog(str(archive)).shards)
    tally = Tally()
    grown = make(archive, progress=tally.progress)
    assert tally.planned["Tokenizing"] == all_bytes - old_bytes
    assert held(grown) == expected([*documents, *more])
    assert verify_store(grown.folder).ok
    after = shard_files(grown)
    for domain in store.manifest.domains:
        for shard in domain.shards[:-1]:
            assert after[shard.file.name] == stamps[shard.file.name]
    assert files_of(make(archive, "fresh").folder) == files_of(grown.folder)


def test_many_small_additions_make_few_files(
    make: Callable[..., TokenStore], tmp_path: Path
) -> None:
    archive = write_archive(tmp_path / "a", some_documents(10))
    for seed in range(8):
        make(archive, sizes=None)
        append(archive, some_documents(10, seed=seed))
    store = make(archive, sizes=None)
    assert [len(domain.shards) for domain in store.manifest.domains] == [1, 1, 1, 1]
    assert files_of(store.folder) == files_of(make(archive, "fresh", sizes=None).folder)


def rewrite(archive: Path, place: int, keep: Callable[[Document], bool]) -> str:
    """Take documents out of one shard, as a takedown does; the shard's old name."""
    shards = list(barrow.archive.read_catalog(str(archive)).shards)
    old = shards[place]
    kept = [d for d in barrow.archive.open(archive / old.name) if keep(d)]
    path = archive / "rewritten.jsonl.zst"
    with barrow.archive.Writer(path, frame_size=1000) as writer:
        writer.extend(kept)
    shards[place] = writer.entries[0]
    from barrow.archive.catalog import Catalog, write_catalog

    write_catalog(archive, Catalog(shards=tuple(shards)))
    (archive / old.name).unlink()
    return old.name


def test_what_is_taken_down_drops_out(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path, documents: list[Document]
) -> None:
    taken = documents[3]
    assert len(taken.text) > 20
    needle = b"".join(byte.to_bytes(2, "little") for byte in taken.text.encode())
    assert any(needle in data for data in files_of(store.folder).values())
    rewrite(archive, 0, lambda d: d.meta["n"] != 3)
    tally = Tally()
    new = make(archive, progress=tally.progress)
    first = barrow.archive.read_catalog(str(archive)).shards[0]
    assert tally.planned["Tokenizing"] == first.content_bytes
    assert held(new) == expected([d for d in documents if d.meta["n"] != 3])
    assert not any(needle in data for data in files_of(new.folder).values())
    assert files_of(make(archive, "fresh").folder) == files_of(new.folder)
    opened = barrow.archive.open(archive)
    for number in range(0, new.num_documents, 7):
        entry = new.document(number)
        assert opened[entry.archive_number].meta.get("id", "") == entry.identity


def test_a_shard_that_is_gone_drops_out(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path
) -> None:
    from barrow.archive.catalog import Catalog, write_catalog

    shards = barrow.archive.read_catalog(str(archive)).shards
    write_catalog(archive, Catalog(shards=shards[1:]))
    tally = Tally()
    new = make(archive, progress=tally.progress)
    assert tally.planned["Tokenizing"] == 0
    assert held(new) == expected(barrow.archive.open(archive))
    assert files_of(make(archive, "fresh").folder) == files_of(new.folder)


def test_the_same_file_twice(make: Callable[..., TokenStore], tmp_path: Path) -> None:
    documents = some_documents(60)
    archive = write_archive(tmp_path / "a", documents, shard_size=1 << 20)
    (path,) = archive.glob("*.zst")
    (archive / "archive.json").unlink()
    shutil.copyfile(path, archive / "zz.jsonl.zst")
    store = make(archive)
    assert held(store) == expected([*documents, *documents])
    before, tally = files_of(store.folder), Tally()
    assert files_of(make(archive, progress=tally.progress).folder) == before
    assert set(tally.planned.values()) == {0}


def test_damage_in_the_store_is_not_built_upon(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path
) -> None:
    path = store.folder / store.manifest.domains[0].shards[-1].file.name
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    append(archive, some_documents(150, seed=5))
    with pytest.raises(TaskFailed, match=f"{path.name}: expected SHA-256"):
        make(archive)
    assert open_store(store.folder).manifest == store.manifest


def test_wide_ids(make: Callable[..., TokenStore], archive: Path) -> None:
    tokenizer = load("bytes")
    tokenizer.vocab_size = (1 << 16) + 1
    store = make(archive, tokenizer=tokenizer)
    assert store.dtype == "uint32"
    assert held(store) == expected(barrow.archive.open(archive))
    assert verify_store(store.folder).ok


def test_a_document_longer_than_a_shard(make: Callable[..., TokenStore], tmp_path: Path) -> None:
    """It is not an error; its shard is longer."""
    documents = [
        Document(letter * size, {}) for letter, size in (("a", 9), ("b", 50_000), ("c", 9))
    ]
    store = make(write_archive(tmp_path / "a", documents))
    assert held(store) == expected(documents)
    assert max(shard.tokens for shard in store.manifest.domains[0].shards) > 50_000


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.zst", ".jsonl.gz"])
def test_foreign_files(make: Callable[..., TokenStore], tmp_path: Path, suffix: str) -> None:
    import gzip
    import json

    import zstandard

    documents = some_documents(50)
    lines = "".join(json.dumps({"text": d.text, "meta": d.meta}) + "\n" for d in documents).encode()
    packed = {
        ".jsonl": lines,
        ".jsonl.zst": zstandard.compress(lines),
        ".jsonl.gz": gzip.compress(lines),
    }[suffix]
    (tmp_path / f"x{suffix}").write_bytes(packed)
    store = make(tmp_path / f"x{suffix}")
    assert held(store) == expected(documents)
    assert store.manifest.corpus.sources[0].documents == 50


def test_splits_of_a_corpus(make: Callable[..., TokenStore], archive: Path) -> None:
    validation = some_documents(20, seed=9)
    write_archive(archive / "validation", validation)
    (archive / "manifest.json").write_text("{}")
    store = make(archive, split="validation")
    assert held(store) == expected(validation)
    assert (store.manifest.corpus.split, store.manifest.corpus.path) == ("validation", str(archive))
    assert store.manifest.corpus.manifest is not None
    with pytest.raises(NotFound, match="has no split 'test'"):
        make(archive, "other", split="test")


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("documents", [[], [Document("", {})] * 3])
def test_nothing_to_tokenize(
    make: Callable[..., TokenStore], tmp_path: Path, documents: list[Document]
) -> None:
    with pytest.raises(ValueError, match="has no text to tokenize; nothing was written"):
        make(write_archive(tmp_path / "a", documents))
    assert not (tmp_path / "store" / "store.json").exists()
    with pytest.raises(NotFound, match="does not exist"):
        make(tmp_path / "nowhere", "other")


def test_another_tokenizer(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path
) -> None:
    class Other(type(load("bytes"))):  # type: ignore[misc]
        hash = "c" * 64

    with pytest.raises(ValueError, match=f"tokenizer {store.tokenizer_hash}, got c+;"):
        make(archive, tokenizer=Other())


def test_another_begin_or_end(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path
) -> None:
    """The hash says nothing of them, and documents of one store begin alike."""

    class Ends(type(load("bytes"))):  # type: ignore[misc]
        end = 257

    class Begins(type(load("bytes"))):  # type: ignore[misc]
        begin = None

    with pytest.raises(ValueError, match="was made with end id None, got 257; choose another"):
        make(archive, tokenizer=Ends())
    with pytest.raises(ValueError, match="was made with begin id 256, got None; choose another"):
        make(archive, tokenizer=Begins())
    assert verify_store(store.folder).ok


def test_a_killed_run_with_another_begin_is_not_gone_on_with(
    make: Callable[..., TokenStore], archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = barrow.tokens.train(["stone " * 99], vocab_size=300, specials=("<a>", "<b>"))
    trained.save(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    config = tmp_path / "b" / "tokenizer_config.json"
    config.write_text(config.read_text().replace('"<a>"', '"<b>"'))
    first, second = load(tmp_path / "a"), load(tmp_path / "b")
    assert first.hash == second.hash

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("barrow.tokens.store.build.write_store_file", stop)
    with pytest.raises(KeyboardInterrupt):
        make(archive, tokenizer=first)
    monkeypatch.undo()
    made = make(archive, tokenizer=second)
    assert made.begin == second.begin != first.begin
    assert verify_store(made.folder).ok


def test_the_store_is_looked_at_under_the_lock(
    make: Callable[..., TokenStore], archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waited for another's run to end must see what it made."""
    from barrow.tokens.store import build

    def late(folder: Path) -> Any:
        if not (folder / "store.json").exists():
            monkeypatch.setattr(build, "locked", locked)
            make(archive)
        return locked(folder)

    monkeypatch.setattr(build, "locked", late)
    tally = Tally()
    make(archive, progress=tally.progress)
    assert tally.planned["Tokenizing"] == 0


def test_other_settings(store: TokenStore, make: Callable[..., TokenStore], archive: Path) -> None:
    with pytest.raises(ValueError, match="was made with text_key 'text', got 'body'"):
        make(archive, text_key="body")
    with pytest.raises(ValueError, match="was made with sizes Sizes"):
        make(archive, sizes=Sizes())
    shutil.copytree(archive, archive / "validation")
    with pytest.raises(ValueError, match="was made with split 'train', got 'validation'"):
        make(archive, split="validation")
    assert make(archive, sizes=None).manifest.sizes == SMALL


def test_a_folder_of_something_else(make: Callable[..., TokenStore], archive: Path) -> None:
    with pytest.raises(ValueError, match="is inside the corpus"):
        make(archive, "archive/store")
    with pytest.raises(FileExistsError, match="not a token store"):
        make(archive, ".")


@pytest.mark.parametrize("limit", [100, 5_000])
def test_a_disk_that_takes_no_more_is_named(
    make: Callable[..., TokenStore], archive: Path, limit: int
) -> None:
    """The system's own error does not say which file; here it refuses files over a size."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
    try:
        with pytest.raises(
            (TaskFailed, WriteFailed), match=r"/.*/store/.* could not be written: File too large"
        ):
            make(archive, "store")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_two_writers(store: TokenStore, make: Callable[..., TokenStore], archive: Path) -> None:
    with locked(store.folder), pytest.raises(FileExistsError, match="another process is writing"):
        make(archive)


def test_what_an_older_barrow_encoded_is_encoded_again(
    store: TokenStore,
    make: Callable[..., TokenStore],
    archive: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encode, "ENCODE", replace(encode.ENCODE, version=99))
    tally = Tally()
    found = make(archive, progress=tally.progress)
    shards = barrow.archive.read_catalog(str(archive)).shards
    assert tally.planned["Tokenizing"] == sum(shard.content_bytes for shard in shards)
    assert found.manifest.encoding == 99
    assert found.identity == store.identity


def test_a_damaged_store(store: TokenStore, make: Callable[..., TokenStore], archive: Path) -> None:
    path = sorted(store.folder.glob("tokens-*"))[0]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError, match="copy the file again, or make the store again"):
        make(archive)


def test_a_failing_document_is_named(
    make: Callable[..., TokenStore], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = write_archive(tmp_path / "a", [Document("abc", {})])
    plain = load("bytes")

    class Odd(type(plain)):  # type: ignore[misc]
        def encode(self, text: str) -> Any:
            return super().encode(text + "!")

    monkeypatch.setattr(encode, "load", lambda _: Odd())
    with pytest.raises(TaskFailed, match=r"documents 0 to 1: .*\.zst: document 0: the reference"):
        make(archive)


SCRIPT = """
import resource, sys
from barrow.engine import Engine, Progress
from barrow.tokens import load, tokenize
from barrow.tokens.store.store_file import Sizes
from barrow.files import disk, locked
archive, out, workers, limit = sys.argv[1:]
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
sizes = Sizes(part_bytes=6_000, buffer_bytes=3_000, shard_bytes=8_000)
if __name__ == "__main__":
    tokenize(archive, tokenizer=load("bytes"), out=out, sizes=sizes,
             engine=Engine(num_workers=int(workers)))
"""


def command(archive: Path, out: Path, *, workers: int = 2, limit: int = 0) -> list[str]:
    script = archive.parent / "script.py"
    script.write_text(SCRIPT)
    return [sys.executable, str(script), str(archive), str(out), str(workers), str(limit)]


def check_kills(
    store: TokenStore,
    make: Callable[..., TokenStore],
    archive: Path,
    tmp_path: Path,
    steps: Iterable[int] | None = None,
) -> None:
    """Killed before any change of the disk: a whole store, old or new, and then the new one."""
    rewrite(archive, 0, lambda d: d.meta["n"] != 3)
    append(archive, some_documents(40, seed=5))
    shutil.copytree(store.folder, tmp_path / "done")
    if steps is None:
        steps = moments(lambda: make(archive, "done"))
    new = files_of(make(archive, "done").folder)
    before, seen = store.manifest, []
    for step in steps:
        name = f"killed{step}"
        shutil.copytree(store.folder, tmp_path / name)
        if not killed_at(step, lambda name=name: make(archive, name)):
            break
        found = open_store(tmp_path / name)
        seen.append(found.manifest == before)
        listed = {file.name for file in found.manifest.files()}
        problems = verify_store(found.folder).problems
        assert {p.reason for p in problems} <= {"unexpected-file"}
        assert not listed & {p.file for p in problems}
        assert files_of(make(archive, name).folder) == new
        shutil.rmtree(tmp_path / name)
    assert seen[0]
    assert seen == sorted(seen, reverse=True)
    assert not seen[-1]


def test_killed_before_each_kind_of_change(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path, tmp_path: Path
) -> None:
    """Kill -9 at any time; the next run resumes and ends with the same bytes."""
    check_kills(store, make, archive, tmp_path)


def test_stopped_while_the_tokenizer_is_saved(
    make: Callable[..., TokenStore],
    archive: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is there before each of its files has its name is what a kill would leave there."""
    out, left = tmp_path / "done", []

    def before(change: str, path: Path | None = None) -> None:
        if change == "rename" and path is not None and "tokenizer" in path.name:
            left.append(f"left{len(left)}")
            shutil.copytree(out, tmp_path / left[-1])

    monkeypatch.setattr(disk, "before", before)
    expected = files_of(make(archive, "done").folder)
    monkeypatch.undo()
    assert len(left) == 3
    for name in left:
        assert files_of(make(archive, name).folder) == expected
        assert not list((tmp_path / name).glob(".*"))


@pytest.mark.soak
def test_killed_at_every_step(
    store: TokenStore, make: Callable[..., TokenStore], archive: Path, tmp_path: Path
) -> None:
    check_kills(store, make, archive, tmp_path, itertools.count(1))


def test_workers_are_killed_too(
    make: Callable[..., TokenStore], archive: Path, tmp_path: Path
) -> None:
    """What was finished is not done again."""
    out = tmp_path / "killed"
    process = subprocess.Popen(command(archive, out), start_new_session=True)
    while len(list(out.glob(".work/tasks/??/[0-9a-f]*"))) < 4:
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {
        path: path.stat().st_ino for path in out.glob(".work/tasks/??/[0-9a-f]*/00000.safetensors")
    }
    assert not (out / "store.json").exists()
    assert kept
    stamps = {}
    planned: list[str] = []

    def on_plan(what: str, size: int) -> None:
        planned.append(what)
        if what == "Joining":
            stamps.update({path: path.stat().st_ino for path in kept})

    found = make(archive, "killed", progress=Progress(on_plan=on_plan))
    assert stamps == kept
    assert files_of(found.folder) == files_of(make(archive, "fresh").folder)


def test_a_full_disk(store: TokenStore, archive: Path, tmp_path: Path) -> None:
    """What was there stays as it was; with room again, the next run goes on."""
    out = tmp_path / "full"
    shutil.copytree(store.folder, out)
    before = files_of(out)
    append(archive, [*some_documents(150, seed=5), Document("long " * 5000, {})])
    failed = subprocess.run(
        command(archive, out, workers=0, limit=20_000), capture_output=True, text=True
    )
    assert failed.returncode == 1
    assert "File too large" in failed.stderr
    assert {name: data for name, data in files_of(out).items() if name in before} == before
    assert verify_store(out).ok
    subprocess.run(command(archive, out, workers=0), check=True)
    assert held(open_store(out)) == expected(barrow.archive.open(archive))


def test_a_folder_that_cannot_be_written(
    make: Callable[..., TokenStore], archive: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        make(archive, "file/store")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
