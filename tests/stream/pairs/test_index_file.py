from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from barrow.stream.pairs.index_file import COLUMNS, TABLE, TableWriter


def test_the_table_by_another_reader(tmp_path: Path) -> None:
    """A file that follows itself is listed once, and a name that is the file's is not said."""
    with TableWriter(tmp_path) as table:
        table.add("a.png", ("one", "zwö"), "a.png", (0, 5))
        table.add("x", (), "b.tar", (512, 7))
        table.add("y", ("\udcff",), "b.tar", (1 << 40, 9))
        assert table.num_captions == 3
        table.write()
    found = load_file(tmp_path / TABLE)
    assert {name: array.dtype for name, array in found.items()} == {
        name: dtype for name, (dtype, _) in COLUMNS.items()
    }
    assert found["offset"].tolist() == [0, 512, 1 << 40]
    assert found["length"].tolist() == [5, 7, 9]
    assert found["file"].tolist() == [0, 1, 1]
    assert found["first_caption"].tolist() == [0, 2, 2, 3]
    texts = {
        "captions": (b"onezw\xc3\xb6\xff", [3, 7, 8]),
        "names": (b"xy", [0, 1, 2]),
        "files": (b"a.pngb.tar", [5, 10]),
    }
    for name, (data, ends) in texts.items():
        assert found[name].tobytes() == data
        assert found[f"{name[:-1]}_ends"].tolist() == ends
    assert os.listdir(tmp_path) == [TABLE]


def test_no_pairs(tmp_path: Path) -> None:
    with TableWriter(tmp_path) as table:
        table.write()
    found = load_file(tmp_path / TABLE)
    assert found["first_caption"].tolist() == [0]
    assert found["captions"].shape == (0,)
    assert found["offset"].dtype == np.uint64


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="halfway"), TableWriter(tmp_path) as table:
        table.add("a.png", ("one",), "a.png", (0, 5))
        raise RuntimeError("halfway")
    assert os.listdir(tmp_path) == []
