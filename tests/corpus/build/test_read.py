from __future__ import annotations

import json
import resource
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import barrow
from barrow import Document
from barrow.corpus.build.read import Inputs, Read, Settings, read
from barrow.corpus.readers.reader import Item, Reader, Reject
from barrow.engine import File
from barrow.errors import MissingExtra


def run(
    tmp_path: Path, reader: Reader, **changes: Any
) -> tuple[list[Document], list[Document], dict[str, Any]]:
    settings = Settings(
        name="Test",
        reader=reader,
        extractor=reader.extractor,
        licence="CC0-1.0",
        language=None,
        retrieved=None,
        names=(("test/a",), ("test/b",)),
        dates=("2024-05-06", "2024-05-07"),
        seconds_per_document=5.0,
        memory_per_document=1 << 27,
        max_text=1000,
    )
    settings, out = replace(settings, **changes), Read(tmp_path, "key")
    files = iter([File(tmp_path / "a", "aa"), File(tmp_path / "b", "bb")])
    groups = tuple(tuple(next(files) for _ in names) for names in settings.names)
    read(settings, Inputs(groups), out)
    documents, rejects = (list(barrow.archive.open(f)) for f in (out.documents, out.rejects))
    return documents, rejects, json.loads(out.counts.path.read_text())


def reader_of(function: Any) -> Reader:
    class Made(Reader):
        extractor = "test/7"
        patterns = ("*",)

        def read(self, path: Path) -> Iterator[Item]:
            yield from function(path)

    return Made()


def test_documents_and_rejects(tmp_path: Path) -> None:
    def made(path: Path) -> Iterator[Item]:
        yield Document(f"from {path.name}", {"member": "1", "licence": "MIT", "none": None})
        yield Reject("odd", "it was odd", "2", "xyz")
        yield Document("  \n")
        yield Document("x" * 1001)
        yield Document("a\ud800")

    documents, rejects, counts = run(tmp_path, reader_of(made))
    assert [d.text for d in documents] == ["from a", "from b"]
    assert documents[0].meta == {
        "pile_set_name": "Test",
        "id": documents[0].meta["id"],
        "source": "test/a",
        "raw_sha256": "aa",
        "extractor": "test/7",
        "licence": "MIT",
        "retrieved": "2024-05-06",
        "retrieved_from": "file",
        "member": "1",
        "decisions": {"read": "keep"},
    }
    assert counts["rejects"] == {"empty": 2, "odd": 2, "too-long": 2, "unpaired-surrogate": 2}
    assert counts["documents"] == 2
    assert len(rejects) == 8
    assert rejects[0].text == "xyz"
    assert rejects[0].meta["cause"] == "it was odd"


@pytest.mark.parametrize("when", ["at once", "half-way"])
def test_a_fault_of_a_reader_costs_one_file(when: str, tmp_path: Path) -> None:
    def made(path: Path) -> Iterator[Item]:
        if path.name == "a" and when == "at once":
            raise ZeroDivisionError("oh")
        yield Document(f"from {path.name}")
        if path.name == "a":
            raise ZeroDivisionError("oh")

    documents, rejects, _ = run(tmp_path, reader_of(made))
    assert documents[-1].text == "from b"
    assert [r.meta["reason"] for r in rejects] == ["reader-error"]
    assert "ZeroDivisionError: oh" in rejects[0].meta["cause"]


def test_a_document_that_takes_too_long(tmp_path: Path) -> None:
    def made(path: Path) -> Iterator[Item]:
        if path.name == "a":
            threading.Event().wait()
        yield Document("from b")

    documents, rejects, _ = run(tmp_path, reader_of(made), seconds_per_document=0.2)
    assert [d.text for d in documents] == ["from b"]
    assert [r.meta["reason"] for r in rejects] == ["too-slow"]


def test_every_document_has_its_own_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But the limit of memory is set for many short ones at once."""
    armed: list[float] = []
    limited: list[object] = []
    monkeypatch.setattr(signal, "setitimer", lambda _, seconds: armed.append(seconds))
    monkeypatch.setattr(resource, "setrlimit", lambda *given: limited.append(given))

    def made(path: Path) -> Iterator[Item]:
        for n in range(500):
            assert armed[-1] == 33
            armed.append(0)  # of this one nothing is left
            yield Document(f"{path} {n}")

    documents, rejects, _ = run(tmp_path, reader_of(made), seconds_per_document=33)
    assert (len(documents), rejects) == (1000, [])
    assert len(limited) < 50


def test_out_of_memory(tmp_path: Path) -> None:
    def made(path: Path) -> Iterator[Item]:
        if path.name == "a":
            yield Document(str(len(bytearray(1 << 28))))
        yield Document("from b")

    documents, rejects, _ = run(tmp_path, reader_of(made))
    assert [d.text for d in documents] == ["from b"]
    assert [r.meta["reason"] for r in rejects] == ["too-large"]


def test_a_group_is_one_source(tmp_path: Path) -> None:
    class Together(Reader):
        extractor = "test/7"
        patterns = ("*",)

        def read(self, path: Path) -> Iterator[Item]:
            yield from ()

        def read_group(self, paths: Sequence[Path]) -> Iterator[Item]:
            yield Document(" and ".join(path.name for path in paths))

    documents, _, _ = run(tmp_path, Together(), names=(("test/a", "test/b"),), dates=())
    assert documents[0].text == "a and b"
    assert documents[0].meta["sources"] == ["test/a", "test/b"]


def test_files_of_a_group_are_read_one_by_one_unless_a_reader_knows_better(tmp_path: Path) -> None:
    reader = reader_of(lambda path: iter([Document(path.name)]))
    documents, _, _ = run(tmp_path, reader, names=(("test/a", "test/b"),), dates=())
    assert [document.text for document in documents] == ["a", "b"]


def test_names_that_are_ours(tmp_path: Path) -> None:
    def made(path: Path) -> Iterator[Item]:
        yield Document("x", {"id": "theirs", "pile_set_name": "Other", "licence": "MIT"})

    documents, _, _ = run(tmp_path, reader_of(made))
    meta = documents[0].meta
    assert (meta["pile_set_name"], meta["record.pile_set_name"]) == ("Test", "Other")
    assert meta["record.id"] == "theirs"
    assert meta["id"] != "theirs"
    assert meta["licence"] == "MIT"


def test_rejects_have_the_record_s_own_id(tmp_path: Path) -> None:
    """PILE-5: what was dropped can be found by the id that its owner gave it."""

    def made(path: Path) -> Iterator[Item]:
        yield Document(" ", {"id": 7, "member": "a"})
        yield Document("x" * 1000, {"id": "theirs", "member": "b"})
        yield Document("x" * 1000, {"id": ["no id"], "member": "c"})
        yield Reject("bad", "no id")

    _, rejects, _ = run(
        tmp_path, reader_of(made), max_text=100, names=(("test/a",),), dates=("2024-05-06",)
    )
    found = [(reject.meta["reason"], reject.meta.get("record.id")) for reject in rejects]
    assert found == [("empty", "7"), ("too-long", "theirs"), ("too-long", None), ("bad", None)]


def test_a_library_that_is_missing_ends_the_build(tmp_path: Path) -> None:
    def made(path: Path) -> Iterator[Item]:
        raise MissingExtra("pypdfium2", "pdf", "reading PDF")
        yield Document("never")

    with pytest.raises(MissingExtra, match="\\[pdf\\]"):
        run(tmp_path, reader_of(made))


def test_records_may_name_their_domain(tmp_path: Path) -> None:
    def made(path: Path) -> Iterator[Item]:
        yield Document("x", {"pile_set_name": "Theirs"})
        yield Document("y")

    documents, _, _ = run(tmp_path, reader_of(made), name="")
    assert [d.domain for d in documents[:2]] == ["Theirs", "(none)"]
    assert "record.pile_set_name" not in documents[0].meta
