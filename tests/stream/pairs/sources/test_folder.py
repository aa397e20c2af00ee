from __future__ import annotations

from pathlib import Path

import pytest

from barrow.stream.pairs.sources.folder import from_folder
from barrow.stream.pairs.sources.found import Found, LeftOut


def fill(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345" if path.suffix != ".txt" else b"one\n\n  two   words \n")


def found(root: Path, **options: object) -> dict[str, tuple[str, ...] | str]:
    things = list(from_folder(root, **options))  # type: ignore[arg-type]
    assert all(one.file == one.name and one.length == 5 for one in things if isinstance(one, Found))
    return {one.name: one.captions if isinstance(one, Found) else one.reason for one in things}


def test_text_beside_the_image(tmp_path: Path) -> None:
    fill(
        tmp_path,
        "b.PNG",
        "b.txt",
        "a/c.jpeg",
        "a/c.txt",
        "a/d.webp",
        "notes.txt",
        ".hidden/e.png",
        ".f.png",
    )
    expected = {
        "a/c.jpeg": ("one", "two words"),
        "a/d.webp": "no-caption",
        "b.PNG": ("one", "two words"),
    }
    assert found(tmp_path) == expected
    assert found(tmp_path, captions="name")["a/d.webp"] == ("d",)


def test_text_that_cannot_be_read(tmp_path: Path) -> None:
    fill(tmp_path, "a.png", "b.png")
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "b.txt").write_text("  \n")
    things = list(from_folder(tmp_path))
    assert things == [
        LeftOut("a.png", "bad-caption", "a.txt is not UTF-8"),
        LeftOut("b.png", "no-caption", "b.txt is empty"),
    ]


def test_names_of_folders(tmp_path: Path) -> None:
    fill(tmp_path, "grey_cat/1.png", "animals/dog-house/2.png", "3.png")
    assert found(tmp_path) == {
        "3.png": "no-caption",
        "animals/dog-house/2.png": ("dog house",),
        "grey_cat/1.png": ("grey cat",),
    }


@pytest.mark.parametrize("kind", ["auto", "name"])
def test_names_of_files(tmp_path: Path, kind: str) -> None:
    fill(tmp_path, "grey_cat-asleep.png", "dog.gif")
    assert found(tmp_path, captions=kind) == {
        "dog.gif": ("dog",),
        "grey_cat-asleep.png": ("grey cat asleep",),
    }
