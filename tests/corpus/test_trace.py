from __future__ import annotations

import json
from pathlib import Path

import pytest

import barrow
from barrow.corpus import Domain, Length, Mixture, Recipe, Records, Splits, build
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


def test_by_the_record_s_own_id(tmp_path: Path) -> None:
    """PILE-5: ids of foreign records lead to their documents; epochs hold for all their domains."""
    (tmp_path / "raw").mkdir()
    records = [
        {"text": f"text {n}", "id": own, "meta": {"pile_set_name": "AB"[n % 2]}}
        for n, own in enumerate(['a/b "c"', "é-1", 2, "0", "nothing special"])
    ]
    (tmp_path / "raw" / "x.jsonl").write_text("\n".join(map(json.dumps, records)))
    out = tmp_path / "out"
    recipe = Recipe("r", {".": Domain("", Records(), epochs=2.0)}, mixture=Mixture("epochs"))
    build(recipe, root=tmp_path / "raw", out=out, engine=Engine(num_workers=0))
    assert len(barrow.archive.open(out)) == 10
    for number, record in enumerate(records):
        found = find_document(str(out), str(record["id"]), is_id=True)
        assert found.document.text == f"text {number}"
        assert found.document.meta["record.id"] == record["id"]
    assert find_document(str(out), "0").number == 0
    with pytest.raises(NotFound, match="out of range.*--id"):
        find_document(str(out), "99")


def test_ids_are_found_in_every_split_and_among_the_rejects(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    records = [{"text": f"text {n} " * 9 if n else "x", "id": f"own {n}"} for n in range(40)]
    (tmp_path / "raw" / "x.jsonl").write_text("\n".join(map(json.dumps, records)))
    out = tmp_path / "out"
    domain = Domain("A", Records(), filters=(Length(min_bytes=10),))
    recipe = Recipe("r", {".": domain}, splits=Splits(validation=0.3, test=0.2))
    build(recipe, root=tmp_path / "raw", out=out, engine=Engine(num_workers=0))
    for split in ("validation", "test", "rejects"):
        for number, document in enumerate(barrow.archive.open(out / split)):
            found = find_document(str(out), document.meta["id"])
            assert (found.document, found.number) == (document, number)
            assert found.shard.startswith(f"{split}/0")
            assert find_document(str(out), document.meta["record.id"]) == found
