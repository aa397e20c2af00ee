from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow import Document
from barrow.stream import Stream


@pytest.fixture
def run(barrow: Callable, write: Callable, tmp_path: Path) -> Path:
    documents = []
    for n in range(40):
        meta = {"pile_set_name": "AB"[n % 2], "id": f"{n + 1:016x}-{n:08x}", "licence": "CC0-1.0"}
        if n == 3:
            meta = {"pile_set_name": "[red]", "url": "https://example.org/\x1b[2J"}
        documents.append(Document("stone " * (n % 9), meta))
    shard = write(documents, "corpus")
    barrow("tokenize", shard, "--tokenizer", "bytes", "--out", tmp_path / "store", "--workers", 0)
    file = tmp_path / "run.json"
    code, _, err = barrow(
        "tokens",
        "stream",
        tmp_path / "store",
        "seq_len=16",
        "batch=4",
        "max_epochs=2",
        "--out",
        file,
    )
    assert code == 0, err
    return file


def test_a_step(barrow: Callable, run: Path) -> None:
    stream = Stream.load(run)
    code, out, err = barrow("tokens", "lineage", run, "--step", 2, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert [(r["row"], r["document"], r["first"]) for r in told] == [
        (one.row, one.document, one.first) for one in stream.explain(2)
    ]
    assert all(r["meta"]["licence"] == "CC0-1.0" for r in told if r["identity"])
    code, out, _ = barrow("tokens", "lineage", run, "--step", 2, "--row", 1)
    assert code == 0
    assert "CC0-1.0" in out
    row = [one for one in stream.explain(2) if one.row == 1]
    assert len(out.splitlines()) == 1 + len(row)
    assert row[0].identity in out


def test_a_document(barrow: Callable, run: Path) -> None:
    stream = Stream.load(run)
    name = f"{6:016x}-{5:08x}"
    number = stream.data.store.find(name)  # type: ignore[attr-defined]
    code, out, _ = barrow("tokens", "lineage", run, "--doc", name, "--json")
    assert code == 0
    assert [r["step"] for r in json.loads(out)] == [s.step for s in stream.steps_of(number)]
    _, by_number, _ = barrow("tokens", "lineage", run, "--doc", number, "--json")
    assert by_number == out
    _, early, _ = barrow("tokens", "lineage", run, "--doc", name, "--json", "--until", 3)
    assert [r["step"] for r in json.loads(early)] == [
        s.step for s in stream.steps_of(number, until=3)
    ]


def test_names_are_shown_as_they_are(barrow: Callable, run: Path) -> None:
    stream = Stream.load(run)
    place = stream.data.store.domains.index("[red]")
    code, out, _ = barrow(
        "tokens", "lineage", run, "--doc", stream.data.store.domain_range(place).start
    )
    assert code == 0
    assert "[red]" in out
    assert "example.org" in out
    assert "\x1b[2J" not in out


def test_a_document_without_an_id_is_shown_by_its_number(barrow: Callable, run: Path) -> None:
    """The number that --doc takes, not the place in the archive."""
    store = Stream.load(run).data.store
    number = store.domain_range(store.domains.index("[red]")).start
    _, out, _ = barrow("tokens", "lineage", run, "--doc", number)
    assert f" {number} (" in out
    assert number != store.document(number).archive_number  # type: ignore[attr-defined]


def test_a_checkpoint_and_a_store_that_was_moved(barrow: Callable, run: Path) -> None:
    checkpoint = run.parent / "checkpoint"
    checkpoint.mkdir()
    shutil.copy(run, checkpoint / "stream.json")
    _, before, _ = barrow("tokens", "lineage", run, "--step", 1, "--json")
    moved = run.parent / "moved"
    (run.parent / "store").rename(moved)
    shutil.rmtree(run.parent / "corpus")
    code, out, err = barrow(
        "tokens", "lineage", checkpoint, "--step", 1, "--json", "--store", moved
    )
    assert code == 0, err
    bare = [{**row, "meta": None} for row in json.loads(before)]
    assert json.loads(out) == bare
    code, out, err = barrow("tokens", "lineage", checkpoint, "--step", 1, "--store", moved)
    assert code == 0
    assert "some documents are no longer in" in err
    code, _, err = barrow("tokens", "lineage", checkpoint, "--step", 1)
    assert code == 1
    assert "is not a token store" in err


def test_bad_input(barrow: Callable, run: Path, tmp_path: Path) -> None:
    for arguments, code, message in (
        ((), 2, "give --step N, or --doc ID"),
        (("--step", 1, "--doc", 3), 2, "give --step N, or --doc ID"),
        (("--doc", 3, "--row", 1), 2, "--row goes with --step"),
        (("--step", 3, "--until", 1), 2, "--until goes with --doc"),
        (("--step", -1), 1, "step must be ≥ 0, got -1"),
        (("--step", 10**6), 1, "past the end"),
        (("--step", 1, "--row", 4), 1, "row must be from 0 to 3 at step 1, got 4"),
        (("--doc", "0" * 15 + "f-00000000"), 1, "has the id"),
        (("--doc", "what"), 1, "16 and 8 hexadecimal digits"),
        (("--doc", 10**6), 1, "document must be from 0 to"),
    ):
        outcome = barrow("tokens", "lineage", run, *arguments)
        assert outcome.code == code, arguments
        assert message in outcome.err
    assert (
        "is not a saved stream"
        in barrow("tokens", "lineage", tmp_path / "no.json", "--step", 1).err
    )
