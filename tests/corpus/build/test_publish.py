from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import numpy as np
import pytest

import barrow
from barrow import Document
from barrow.archive import Writer
from barrow.corpus.build.publish import FACTS, INDEX, Shard, publish, write_if_changed
from barrow.errors import UnsafeName


def result(folder: Path, *texts: str) -> Shard:
    folder.mkdir(parents=True)
    shard = Shard(folder, "key")
    with Writer(shard.shard) as writer:
        writer.extend(Document(text) for text in texts)
    shard.entry.path.write_bytes(msgspec.json.encode(writer.entries[0]))
    (folder / FACTS).write_bytes(np.arange(len(texts)).tobytes())
    return shard


def test_shards_become_an_archive_with_its_index(tmp_path: Path) -> None:
    one, two = result(tmp_path / "1", "a", "b"), result(tmp_path / "2", "c")
    empty = result(tmp_path / "3")
    entries = publish(tmp_path / "out", [one, empty, two])
    assert [d.text for d in barrow.archive.open(tmp_path / "out")] == ["a", "b", "c"]
    assert [entry.documents for entry in entries] == [2, 1], "a shard of nothing is left out"
    assert barrow.archive.verify(tmp_path / "out", deep=True).ok
    assert len(list((tmp_path / "out" / INDEX).iterdir())) == 2
    assert publish(tmp_path / "out", [one, empty, two]) == entries
    leftovers = [path.name for path in (tmp_path / "out").rglob(".*")]
    assert leftovers == []


def test_what_is_not_listed_any_more_goes(tmp_path: Path) -> None:
    one, two = result(tmp_path / "1", "a"), result(tmp_path / "2", "c")
    publish(tmp_path / "out", [one, two])
    (other,) = publish(tmp_path / "out", [two])
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"archive.json", INDEX, other.name}
    assert len(list((tmp_path / "out" / INDEX).iterdir())) == 1
    # So does what a kill left after the new catalog was written.
    (tmp_path / "out/00001-0badbeef.jsonl.zst").touch()
    publish(tmp_path / "out", [two])
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    publish(tmp_path / "out", [])
    assert len(barrow.archive.open(tmp_path / "out")) == 0


def test_a_file_that_has_its_text_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_if_changed(path, "one")
    before = path.stat().st_mtime_ns
    write_if_changed(path, "one")
    assert path.stat().st_mtime_ns == before
    write_if_changed(path, "two")
    assert path.read_text() == "two"


@pytest.mark.parametrize("sha256", ["/../../v", "link"])
def test_a_result_of_somebody_else_is_not_published_elsewhere(tmp_path: Path, sha256: str) -> None:
    out = tmp_path / "out"
    (out / "00000-").mkdir(parents=True)
    made = result(out / ".work" / "1", "a")
    entry = msgspec.json.decode(made.entry.path.read_bytes())
    made.entry.path.write_bytes(msgspec.json.encode({**entry, "sha256": sha256}))
    (out / "00000-link.jsonl.zst").symlink_to(tmp_path / "victim")
    with pytest.raises(UnsafeName, match="leads out of the folder"):
        publish(out, [made])
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("is_linked", [True, False])
def test_what_is_published_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_linked: bool
) -> None:
    """Copies are synced before they get their names, and the folders after."""
    made = result(tmp_path / "1", "a")
    synced: list[str] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "fsync", note)
    if not is_linked:
        monkeypatch.setattr(os, "link", refuse)
    publish(tmp_path / "out", [made])
    write_if_changed(tmp_path / "out" / "page.html", "text")
    files = [name for name in synced if name.endswith(".writing")]
    assert len(files) == (2 if is_linked else 4)  # the catalog, the page; the shard, its index
    assert synced[-1] == "out"
    assert INDEX in synced
