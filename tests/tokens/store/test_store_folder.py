from __future__ import annotations

from pathlib import Path

import pytest

from barrow.tokens.store.build import refuse_other_folders, remove_unlisted, slug


def test_folders_that_will_do(tmp_path: Path, archive: Path) -> None:
    refuse_other_folders(tmp_path / "new", str(archive))
    (tmp_path / "empty").mkdir()
    refuse_other_folders(tmp_path / "empty", str(archive))
    (tmp_path / "killed" / ".work").mkdir(parents=True)
    refuse_other_folders(tmp_path / "killed", str(archive))
    refuse_other_folders(archive / "store", "memory://somewhere")


def test_folders_that_will_not(tmp_path: Path, archive: Path) -> None:
    for out in (archive, archive / "store", archive / "a" / ".." / "b" / "c"):
        with pytest.raises(ValueError, match="is inside the corpus .*; choose a folder outside it"):
            refuse_other_folders(out, str(archive))
    (tmp_path / "link").symlink_to(archive)
    with pytest.raises(ValueError, match="is inside the corpus"):
        refuse_other_folders(tmp_path / "link" / "store", str(archive))
    with pytest.raises(FileExistsError, match="is not empty and is not a token store"):
        refuse_other_folders(tmp_path, str(archive))
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="is a file; pass a folder"):
        refuse_other_folders(tmp_path / "file", str(archive))


def test_names_of_files() -> None:
    assert slug("Wikipedia (en)") == "wikipedia-en"
    assert slug("../../x") == "x"
    assert slug("日本") == "domain"
    assert len(slug("x" * 300)) == 40


def test_only_arrays_and_leavings_are_removed(tmp_path: Path) -> None:
    for name in ("a.safetensors", "b.safetensors", ".c.writing", "notes.txt"):
        (tmp_path / name).write_text("")
    remove_unlisted(tmp_path, {"a.safetensors"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.safetensors", "notes.txt"]
