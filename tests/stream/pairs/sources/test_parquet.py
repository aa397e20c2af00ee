from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barrow.errors import MissingExtra, StoreError
from barrow.stream.pairs.sources.found import Found, LeftOut
from barrow.stream.pairs.sources.parquet import from_parquet


def things(root: Path, **columns: object) -> list[Found | LeftOut]:
    pq.write_table(pa.table(columns), root / "a.parquet")
    return list(from_parquet(root, [root / "a.parquet"]))


def test_bytes_structs_and_paths(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"123")
    told = ["one", "two", None, "four"]
    images = [b"A", None, b"C", b"D"]
    found = things(tmp_path, image=images, caption=told)
    assert found[0] == Found("a.parquet row 0", ("one",), data=b"A")
    assert [one.reason for one in found if isinstance(one, LeftOut)] == ["no-image", "no-caption"]
    structs = [{"bytes": b"A", "path": "cat.png"}, {"bytes": None, "path": "x.png"}]
    one, two = things(tmp_path, image=structs, text=[["a", "b"], ["c"]])
    assert one == Found("a.parquet row 0 (cat.png)", ("a", "b"), data=b"A")
    assert two == Found("x.png", ("c",), file="x.png", length=3)
    one, two = things(tmp_path, path=["x.png", "none.png"], title=["a", "b"])
    assert one == Found("x.png", ("a",), file="x.png", length=3)
    assert isinstance(two, LeftOut)
    assert two.reason == "missing"


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        StoreError, match=r"expected a column of captions \(caption or .*found image, x"
    ):
        things(tmp_path, image=[b"A"], x=["a"])
    with pytest.raises(
        StoreError,
        match=r"expected a column of images \(pic\), found image, caption: .*--image-key",
    ):
        pq.write_table(pa.table({"image": [b"A"], "caption": ["a"]}), tmp_path / "a.parquet")
        list(from_parquet(tmp_path, [tmp_path / "a.parquet"], image_key="pic"))


def test_what_is_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(StoreError, match="a.parquet: not readable as parquet"):
        list(from_parquet(tmp_path, [tmp_path / "a.parquet"]))


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"'.\[parquet\]"):
        list(from_parquet(tmp_path, []))
