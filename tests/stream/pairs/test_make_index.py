"""Sources of every kind become the same index, and nothing is left out silently."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image
from tests.places import naming
from tests.stream.pairs.conftest import captions, png, write_tar

from barrow.errors import BadImage, NotFound
from barrow.images import Limits
from barrow.stream.pairs import index_pairs, open_index

KINDS = ["folder", "jsonl", "tars", "parquet"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("check", [False, True])
def test_every_kind_of_source(kind: str, check: bool, make: Callable, tmp_path: Path) -> None:
    index = index_pairs(make(kind), tmp_path / "index", check=check)
    assert index.num_pairs == 20
    for number in range(20):
        assert index.read(number) == png(number)
        assert index.captions(number) == tuple(captions(number))
    told = index.manifest
    assert (told.captions, told.is_checked, told.left_out) == (39, check, {})
    assert told.image_bytes == sum(len(png(n)) for n in range(20))


def test_names_lead_to_the_image(make: Callable, tmp_path: Path) -> None:
    names = {k: index_pairs(make(k, k), tmp_path / f"{k} index").name(13) for k in KINDS}
    assert names == {
        "folder": "013.png",
        "jsonl": "images/13.png",
        "tars": "1.tar: a/013.png",
        "parquet": "a.parquet row 13",
    }


def test_several_sources_are_numbered_one_after_another(make: Callable, tmp_path: Path) -> None:
    sources = [
        make("tars", "one", 0, 8),
        make("folder", "two", 8, 11),
        make("parquet", "three", 11),
    ]
    index = index_pairs(sources, tmp_path / "index")
    assert index.sizes == {"one": 8, "two": 3, "three": 9}
    assert index.ranges == (range(8), range(8, 11), range(11, 20))
    assert [index.read(n) for n in range(20)] == [png(n) for n in range(20)]
    assert [index.domain_of(n) for n in (0, 7, 8, 10, 11, 19)] == [
        *["one"] * 2,
        *["two"] * 2,
        *["three"] * 2,
    ]


def test_the_index_is_a_function_of_the_sources(make: Callable, tmp_path: Path) -> None:
    source = make("folder")
    one = index_pairs(source, tmp_path / "1")
    two = index_pairs(source, tmp_path / "2", check=True, threads=3)
    assert one.identity == two.identity
    (source / "005.txt").write_text("other\n")
    assert index_pairs(source, tmp_path / "3").identity != one.identity


def test_made_again_in_its_place(make: Callable, tmp_path: Path) -> None:
    index_pairs(make("parquet", "a"), tmp_path / "index")
    index = index_pairs(make("folder", "b"), tmp_path / "index")
    assert index.sizes == {"b": 20}
    files = sorted(path.name for path in (tmp_path / "index").iterdir())
    assert files == ["left_out.jsonl", "pairs.json", "pairs.safetensors"]


def test_broken_images_are_left_out_and_named_when_checked(make: Callable, tmp_path: Path) -> None:
    source = make("folder")
    (source / "003.png").write_bytes(png(3)[:-60])
    (source / "007.png").write_bytes(b"<html>")
    (source / "011.png").write_bytes(b"")
    Image.fromarray(np.zeros((90, 90, 3), np.uint8)).save(source / "015.png")
    limits = Limits(pixels=8000)
    index = index_pairs(source, tmp_path / "index", check=True, limits=limits)
    reasons = {"bomb": 1, "empty": 1, "not-an-image": 1, "truncated": 1}
    assert (index.num_pairs, index.manifest.left_out) == (16, reasons)
    lines = (tmp_path / "index" / "left_out.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines]
    assert [(one["name"], one["reason"], one["source"]) for one in told] == [
        ("003.png", "truncated", "source"),
        ("007.png", "not-an-image", "source"),
        ("011.png", "empty", "source"),
        ("015.png", "bomb", "source"),
    ]
    assert "the image is cut off" in told[0]["cause"]


def test_without_a_check_a_broken_image_is_an_error_later(make: Callable, tmp_path: Path) -> None:
    source = make("folder")
    (source / "003.png").write_bytes(b"<html>")
    assert index_pairs(source, tmp_path / "index").num_pairs == 20


def test_a_file_that_changed_or_went(make: Callable, tmp_path: Path) -> None:
    source = make("folder")
    index = index_pairs(source, tmp_path / "index")
    (source / "004.png").write_bytes(png(4) + b"more")
    with pytest.raises(
        BadImage, match=r"004.png: expected .* it changed after the index"
    ) as caught:
        index.read(4)
    assert caught.value.reason == "changed"
    (source / "005.png").unlink()
    with pytest.raises(BadImage, match=r"005.png: .*No such file.* pass its new place") as caught:
        index.read(5)
    assert caught.value.reason == "missing"


def test_a_tar_that_became_shorter(make: Callable, tmp_path: Path) -> None:
    source = make("tars")
    index = index_pairs(source, tmp_path / "index")
    (source / "1.tar").write_bytes((source / "1.tar").read_bytes()[:600])
    with pytest.raises(BadImage, match="1.tar: a/019.png: expected .* which has 600"):
        index.read(19)


def test_an_index_and_its_sources_may_be_moved_together(make: Callable, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    source = make("jsonl", "old/source")
    index_pairs([source], tmp_path / "old" / "index")
    assert naming(tmp_path, [tmp_path / "old" / "index"]) == []
    (tmp_path / "old").rename(tmp_path / "new")
    assert open_index(tmp_path / "new" / "index").read(3) == png(3)


def test_moved_sources(make: Callable, tmp_path: Path) -> None:
    source = make("tars")
    index_pairs(source, tmp_path / "index")
    source.rename(tmp_path / "elsewhere")
    (tmp_path / "index").rename(tmp_path / "moved")
    index = open_index(tmp_path / "moved", roots={"source": tmp_path / "elsewhere"})
    assert index.read(13) == png(13)
    with pytest.raises(ValueError, match="no source 'sauce'; there are source"):
        open_index(tmp_path / "moved", roots={"sauce": "x"})


def test_copied_images_move_with_the_index(make: Callable, tmp_path: Path) -> None:
    source = make("parquet")
    index_pairs(source, tmp_path / "index")
    (source / "a.parquet").unlink()
    (tmp_path / "index").rename(tmp_path / "moved")
    assert open_index(tmp_path / "moved").read(13) == png(13)


def test_progress_is_told(make: Callable, tmp_path: Path) -> None:
    done: list[int] = []
    index_pairs(make("folder"), tmp_path / "index", on_progress=done.append)
    assert sum(done) == 20


def test_nothing_to_index(make: Callable, tmp_path: Path) -> None:
    source = make("folder", last=2)
    for path in source.glob("*.txt"):
        path.write_text("")
    with pytest.raises(NotFound, match=r"no image–text pair in .*source \(2 × no-caption\)"):
        index_pairs(source, tmp_path / "index")
    with pytest.raises(NotFound, match="not an index of pairs"):
        open_index(tmp_path / "index")


def test_sources_of_one_name(make: Callable, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="names, got source, source"):
        source = make("folder")
        index_pairs([source, source], tmp_path / "index")
    with pytest.raises(ValueError, match="names, got none"):
        index_pairs([], tmp_path / "index")


@pytest.mark.parametrize("kind", ["jsonl", "folder", "tars", "parquet"])
@pytest.mark.parametrize("name", ["../victim/0", "absolute", "link"])
def test_paths_lead_out_only_when_asked(kind: str, name: str, tmp_path: Path) -> None:
    source, victim = tmp_path / "source", tmp_path / "victim"
    source.mkdir()
    victim.mkdir()
    (victim / "0.png").write_bytes(png(0))
    (source / "1.png").write_bytes(png(1))
    write_tar(victim / "0.tar", [("0.png", png(0)), ("0.txt", b"caption")])
    if kind in ("jsonl", "parquet"):
        (source / "link.png").symlink_to(victim / "0.png")
        paths = {"absolute": str(victim / "0.png")}.get(name, f"{name}.png")
        rows = [{"image": path, "caption": "caption"} for path in (paths, "1.png")]
        if kind == "jsonl":
            (source / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), source / "x.parquet")
        given = source / f"x.{kind}"
    else:  # found by listing: only a link leads out
        (source / ("link.tar" if kind == "tars" else "0.png")).symlink_to(
            victim / ("0.tar" if kind == "tars" else "0.png")
        )
        write_tar(source / "own.tar", [("1.png", png(1)), ("1.txt", b"caption")])
        if kind == "folder":
            (source / "own.tar").unlink()
        given = source
    index = index_pairs(given, tmp_path / "index")
    assert [index.read(number) for number in range(index.num_pairs)] == [png(1)]
    assert index.manifest.left_out == {"outside": 1}
    assert "--outside" in (tmp_path / "index" / "left_out.jsonl").read_text()
    index = index_pairs(given, tmp_path / "index", outside=True)
    assert sorted(index.read(number) for number in range(2)) == sorted([png(0), png(1)])
    told = json.loads((tmp_path / "index" / "pairs.json").read_text())
    (tmp_path / "index" / "pairs.json").write_text(json.dumps({**told, "is_outside": False}))
    index = open_index(tmp_path / "index")
    refused = 0
    for number in range(2):
        try:
            index.read(number)
        except BadImage as error:
            refused += error.reason == "outside"
    assert refused == 1, "an index says for itself whether its paths may lead out"
