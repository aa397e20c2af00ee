from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from barrow.corpus.build.raw_files import HashCache, find_files, find_folders, portable_name


def test_files_are_found_sorted_and_links_are_not_followed(root: Path) -> None:
    found, unread = find_files(root / "letters", ("**/*.txt",))
    names = [portable_name(path, root) for path in found]
    assert len(names) == 31
    assert names == sorted(names)
    assert [path.name for path in unread] == ["link.txt", "picture.png"]
    found, _ = find_files(root / "letters", ("link.txt",))
    assert [path.name for path in found] == ["link.txt"], "a link that is named"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert find_files(tmp_path / "none", ("**/*",)) == ([], [])


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    path.write_text("x")
    found, _ = find_files(tmp_path, ("**/*.txt",))
    assert [portable_name(p, tmp_path) for p in found] == ["caf\\xe9.txt"]
    assert HashCache(tmp_path / "cache.json").raw_file(path, tmp_path, lambda _: None).size == 1


def test_hashes_are_remembered(root: Path, tmp_path: Path) -> None:
    path = root / "notes" / "00.txt"
    cache = HashCache(tmp_path / "hashes.json")
    seen: list[int] = []
    raw = cache.raw_file(path, root, seen.append)
    assert raw.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert raw.name == "notes/00.txt"
    assert sum(seen) == raw.size
    cache.save()
    again = HashCache(tmp_path / "hashes.json")
    assert again.raw_file(path, root, seen.append) == raw
    path.write_text("changed")
    assert again.raw_file(path, root, seen.append).sha256 != raw.sha256
    (tmp_path / "hashes.json").write_text("[broken")
    assert HashCache(tmp_path / "hashes.json").raw_file(path, root, seen.append).size == 7


def test_a_file_changed_in_place_with_its_size_and_time_kept(tmp_path: Path) -> None:
    path, cache = tmp_path / "a", HashCache(tmp_path / "hashes.json")
    path.write_text("one")
    first, status = cache.raw_file(path, tmp_path, lambda _: None), path.stat()
    cache.save()
    path.write_text("two")
    times = (status.st_atime_ns, status.st_mtime_ns)
    os.utime(path, ns=times)
    while path.stat().st_ctime_ns == status.st_ctime_ns:  # the clock of a file system is coarse
        os.utime(path, ns=times)
    again = HashCache(tmp_path / "hashes.json").raw_file(path, tmp_path, lambda _: None)
    assert again.sha256 == hashlib.sha256(b"two").hexdigest() != first.sha256


def test_a_cache_of_an_earlier_version_is_hashed_once_more(tmp_path: Path) -> None:
    """It had no inode and no ctime: rows of size, modification time and hash."""
    path, saved = tmp_path / "a", tmp_path / "hashes.json"
    path.write_text("one")
    status = path.stat()
    saved.write_text(json.dumps({str(path): [status.st_size, status.st_mtime_ns, "of another"]}))
    for num_hashed in (1, 0):
        cache = HashCache(saved)
        raw = cache.raw_file(path, tmp_path, lambda _: None)
        assert raw.sha256 == hashlib.sha256(b"one").hexdigest()
        assert cache.took(0, 0).from_cache == 1 - num_hashed
        cache.save()


def test_folders_as_a_whole(tmp_path: Path) -> None:
    for name in ("b/x.py", "b/deep/y.py", "a/x.py", "c.zip", "note.txt"):
        path = tmp_path / "github" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "github" / "link").symlink_to(tmp_path)
    found, unread = find_folders(tmp_path / "github", ("*.zip",))
    assert [path.name for path in found] == ["a", "b", "c.zip"]
    assert [path.name for path in unread] == ["note.txt"]
    assert find_folders(tmp_path / "none", ("*",)) == ([], [])
    cache = HashCache(tmp_path / "hashes.json")
    first = cache.raw_folder(tmp_path / "github" / "b", tmp_path, lambda _: None)
    assert (first.name, first.size) == ("github/b", len("b/x.py") + len("b/deep/y.py"))
    (tmp_path / "github" / "b" / "deep" / "y.py").rename(tmp_path / "github" / "b" / "z.py")
    assert cache.raw_folder(tmp_path / "github" / "b", tmp_path, lambda _: None) != first


def test_two_builds_remember_hashes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a temporary file of its own: with a common one, the second rename had no file."""
    (tmp_path / "a").write_text("1")
    cache = tmp_path / "hashes.json"
    first, second = HashCache(cache), HashCache(cache)
    for one in (first, second):
        one.raw_file(tmp_path / "a", tmp_path, lambda _: None)
    replace = Path.replace

    def between(path: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "replace", replace)
        second.save()
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", between)
    first.save()
    assert json.loads(cache.read_text())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "hashes.json"]


def test_the_day_of_a_file_and_of_a_folder(tmp_path: Path) -> None:
    """Of the last change, in UTC wherever we are; of a folder that of the last of its files."""
    for name, seconds in (("a", 1_700_000_000), ("b", 1_699_919_999)):
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text(name)
        os.utime(tmp_path / "in" / name, (seconds, seconds))
    cache = HashCache(tmp_path / "cache.json")
    dates = [cache.raw_file(tmp_path / "in" / name, tmp_path, lambda _: None).date for name in "ab"]
    assert dates == ["2023-11-14", "2023-11-13"]
    assert cache.raw_folder(tmp_path / "in", tmp_path, lambda _: None).date == "2023-11-14"
