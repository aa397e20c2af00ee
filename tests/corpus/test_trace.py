from __future__ import annotations

from pathlib import Path

import pytest

import barrow
from barrow.corpus import Recipe, build
from barrow.corpus.trace import find_document
from barrow.engine import Engine
from barrow.errors import NotFound


def test_by_id_and_by_number(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    out = tmp_path / "out"
    build(recipe, root=root, out=out, engine=Engine(num_workers=0))
    archive = barrow.archive.open(out)
    for number in (0, 7, 41):
        wanted = archive[number]
        by_id = find_document(str(out), wanted.meta["id"])
        assert (by_id.document, by_id.number) == (wanted, number)
        assert find_document(str(out), str(number)) == by_id
    with pytest.raises(NotFound, match="no document 'abc'"):
        find_document(str(out), "abc")
    with pytest.raises(NotFound, match="the corpus has 42"):
        find_document(str(out), "42")
