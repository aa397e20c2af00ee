from __future__ import annotations

from pathlib import Path

import pytest

from barrow.errors import UnsafeName
from barrow.files import (
    checked_name,
    inside,
    local_path,
    make_folder,
    portable,
    resolved,
    write_bytes,
)


@pytest.mark.parametrize("name", ["a", "a/b", "./a", "c:x", ".hidden", "a..b", "here", "here/a"])
def test_names_that_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "here").symlink_to("deep")
    assert inside(tmp_path / "folder", name) == tmp_path / "folder" / name


@pytest.mark.parametrize(
    "name",
    [
        *("..", "../x", "a/../../x", "/etc/passwd", "//x", "", ".", "a\\..\\b", "a\0b", None, 3),
        *("out", "out/x", "chain", "chain/x", "up"),
    ],
)
def test_names_that_lead_out(tmp_path: Path, name: object) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "victim").mkdir()
    (folder / "out").symlink_to(tmp_path / "victim")
    (folder / "chain").symlink_to("out")
    (folder / "up").symlink_to("../nothing-there")
    with pytest.raises(UnsafeName, match="leads out of the folder"):
        inside(folder, name)


def test_links_that_are_meant(tmp_path: Path) -> None:
    for name in ("folder", "blobs", "others"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").touch()
    (tmp_path / "folder" / "blob").symlink_to("../blobs/x")
    (tmp_path / "folder" / "other").symlink_to("../others/x")
    assert inside(tmp_path / "folder", "blob", links_to=tmp_path / "blobs").is_file()
    with pytest.raises(UnsafeName, match="is a link that leads out"):
        inside(tmp_path / "folder", "other", links_to=tmp_path / "blobs")


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    assert inside(tmp_path / "folder", "a") == tmp_path / "folder" / "a"


def test_where_there_are_no_links() -> None:
    assert str(checked_name("a/b")) == "a/b"
    with pytest.raises(UnsafeName, match="'../a' leads out of the folder; expected the name"):
        checked_name("../a")


@pytest.mark.parametrize(
    "out", ["s3://bucket/x", Path("gs://bucket"), "hf://a/b", "simplecache::s3://x"]
)
def test_results_are_not_written_to_urls(out: str) -> None:
    """An out=s3://… once wrote to a local folder of the name `s3:`."""
    with pytest.raises(
        ValueError, match=r"is a URL.* only written to local disks; pass a local folder"
    ):
        local_path(out)


@pytest.mark.parametrize("out", ["a", "/a/b:c/d", "./s3:/x", "a:b", "a b:/c"])
def test_results_are_written_to_paths(out: str) -> None:
    assert local_path(out) == Path(out)


def test_no_folder_of_a_scheme_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for make in (make_folder, lambda out: write_bytes(Path(out, "x"), b"")):
        with pytest.raises(ValueError, match="is a URL"):
            make("s3://bucket/x")
    assert make_folder("a/b").is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_paths_of_a_folder_that_is_moved_with_what_it_names(tmp_path: Path) -> None:
    for name in ("there/run", "there/store/tokenizer", "there/run/own"):
        (tmp_path / name).mkdir(parents=True)
    there = tmp_path / "there"
    value = {
        "store": str(there / "store"),
        "own": [str(there / "run" / "own"), 3, None, "bytes"],
        "above": str(there),
        "gone": str(there / "gone"),
        "slash": "/",
        "url": "https://example.org/x",
        "words": "../not a path",
    }
    kept = portable(value, there / "run")
    assert kept == value | {"store": "../store", "above": "..", "own": ["./own", 3, None, "bytes"]}
    assert resolved(kept, there / "run") == value | {"words": str(there / "not a path")}
    there.rename(tmp_path / "here")
    here = tmp_path / "here"
    assert resolved(kept, here / "run")["store"] == str(here / "store")
    assert resolved(kept, here / "run")["own"][0] == str(here / "run" / "own")
    # Through a link, the files are those that it leads to.
    (tmp_path / "link").symlink_to(here / "run")
    assert portable(str(here / "store"), tmp_path / "link") == "../store"
    assert resolved("../store", tmp_path / "link") == str(here / "store")


def test_what_an_earlier_version_named_relative_to_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("store", "work/here"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    assert resolved("../store", tmp_path / "runs" / "deep") == "../store"
    assert resolved(str(tmp_path / "store"), tmp_path) == str(tmp_path / "store")
