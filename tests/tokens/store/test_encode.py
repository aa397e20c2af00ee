from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from tests.tokens.stores import expected

import barrow
from barrow import Document
from barrow.engine import File
from barrow.errors import StoreError
from barrow.tokens import load
from barrow.tokens.store.encode import Encoded, Inputs, Settings, encode
from barrow.tokens.store.token_file import TokenFile

U16 = np.dtype("<u2")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., list[Path]]:
    """Perform the task; give the files it writes."""
    folder = tmp_path / "tokenizer"
    load("bytes").save(folder)

    def run(path: Path, name: str = "out", **changes: Any) -> list[Path]:
        settings = Settings(
            source="c" * 32,
            start=0,
            stop=None,
            text_key="text",
            tokenizer=load("bytes").hash,
            begin=256,
            end=None,
            dtype="uint16",
            buffer_bytes=4_000,
        )
        out = Encoded(tmp_path / name, "key")
        out.folder.mkdir()
        inputs = Inputs(File(path, "documents"), File(folder, "tokenizer"))
        encode(replace(settings, **changes), inputs, out)
        return out.parts()

    return run


def documents_in(path: Path) -> list[tuple[str, list[int], int, tuple[int, int]]]:
    """Domain, ids, number and identity of every document, by the library and plain Python."""
    arrays = load_file(path)
    domains = [p.domain for p in TokenFile.open(path, U16).pieces for _ in range(p.documents)]
    bounds = arrays["offsets"].tolist()
    return [
        (domains[k], arrays["ids"][a:b].tolist(), int(arrays["number"][k]), tuple(identity))
        for k, (a, b, identity) in enumerate(
            zip(bounds, bounds[1:], arrays["identity"].tolist(), strict=False)
        )
    ]


def test_every_document_once_by_domain_in_order(
    run: Callable[..., list[Path]], write: Callable[..., Path], documents: list[Document]
) -> None:
    """BEYOND-2: ids, document, domain and place in the archive of every token."""
    files = run(write(documents))
    assert [path.name for path in files] == [f"{k:05d}.safetensors" for k in range(len(files))]
    assert len(files) > 5
    found = [documents_in(path) for path in files]
    for part in found:
        assert [d[0] for d in part] == sorted(d[0] for d in part)
    by_domain: dict[str, list[list[int]]] = {}
    for name, ids, number, identity in (d for part in found for d in part):
        by_domain.setdefault(name, []).append(ids)
        meta = documents[number].meta
        assert ids[1:] == list(documents[number].text.encode())
        assert name == meta.get("pile_set_name", "unknown")
        halves = meta.get("id", "0-0").split("-")
        assert identity == (int(halves[0], 16), int(halves[1], 16))
    assert by_domain == expected(documents)


def test_pieces_say_what_they_hold(
    run: Callable[..., list[Path]], write: Callable[..., Path], documents: list[Document]
) -> None:
    for flush, path in enumerate(run(write(documents))):
        told = documents_in(path)
        for piece in TokenFile.open(path, U16).pieces:
            mine = [d for d in told if d[0] == piece.domain]
            texts = [documents[d[2]].text.encode() for d in mine]
            assert (piece.source, piece.part, piece.flush) == ("c" * 32, 0, flush)
            assert piece.documents == len(mine)
            assert piece.tokens == sum(len(d[1]) for d in mine)
            assert piece.text_bytes == sum(map(len, texts))


def test_files_are_about_as_large_as_the_buffer(
    run: Callable[..., list[Path]], write: Callable[..., Path], documents: list[Document]
) -> None:
    path = write(documents, frame_size=500)
    longest = max(len(d.text.encode()) for d in documents)
    sizes = [file.stat().st_size for file in run(path)]
    assert max(sizes) < 4_000 + 2 * (longest + 500) + 1_500
    assert len(run(path, "one", buffer_bytes=1 << 25)) == 1


def test_documents_without_text_fill_the_buffer_too(
    run: Callable[..., list[Path]], write: Callable[..., Path]
) -> None:
    files = run(write([Document("", {})] * 1000, frame_size=500))
    assert len(files) > 5
    assert sum(len(documents_in(path)) for path in files) == 1000


def test_a_part_keeps_the_numbers_of_the_file(
    run: Callable[..., list[Path]], write: Callable[..., Path], documents: list[Document]
) -> None:
    files = run(write(documents), start=100, stop=140)
    told = [d for path in files for d in documents_in(path)]
    assert sorted(d[2] for d in told) == list(range(100, 140))
    assert {p.part for path in files for p in TokenFile.open(path, U16).pieces} == {100}


@pytest.mark.parametrize("meta", [{}, {"pile_set_name": None}, {"pile_set_name": 3, "id": []}])
def test_documents_that_say_little_of_themselves(
    run: Callable[..., list[Path]], write: Callable[..., Path], meta: dict[str, Any]
) -> None:
    (path,) = run(write([Document("a", meta), Document("b", {"pile_set_name": ""})]))
    assert documents_in(path) == [
        ("unknown", [256, 97], 0, (0, 0)),
        ("unknown", [256, 98], 1, (0, 0)),
    ]


def test_foreign_records(run: Callable[..., list[Path]], tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"body":"a"}\n\n{"body":"","meta":{"pile_set_name":"Z"}}\n')
    (file,) = run(path, text_key="body")
    assert documents_in(file) == [("Z", [], 1, (0, 0)), ("unknown", [256, 97], 0, (0, 0))]


def test_no_documents_no_files(run: Callable[..., list[Path]], tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n")
    assert run(path) == []


def with_encoder(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    """Let workers load a byte tokenizer whose fast encoder does something else."""
    plain = load("bytes")

    class Odd(type(plain)):  # type: ignore[misc]
        def encode(self, text: str) -> Any:
            return plain.encode(text)

        def encode_texts(self, text: Any, offsets: Any) -> tuple[Any, Any]:
            ids, where = super().encode_texts(text, offsets)
            return change(ids.copy()), where

    monkeypatch.setattr("barrow.tokens.store.encode.load", lambda _: Odd())


def test_an_encoder_that_differs_from_the_reference(
    run: Callable[..., list[Path]], write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_encoder(monkeypatch, lambda ids: ids ^ 1)
    with pytest.raises(StoreError, match="document 0: the reference gives 3 ids, 97 98 99 from"):
        run(write([Document("abc", {})]))


def test_ids_over_the_vocabulary(
    run: Callable[..., list[Path]], write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such an id is an error at writing."""

    def change(ids: Any) -> Any:
        ids[-1] = 259
        return ids

    with_encoder(monkeypatch, change)
    with pytest.raises(StoreError, match="document 1: id 259, but .* vocabulary has 259") as caught:
        run(write([Document("abc", {}), Document("d", {}), Document("", {})]))
    assert caught.value.reason == "id-over-vocabulary"


def test_a_tokenizer_that_was_changed_meanwhile(
    run: Callable[..., list[Path]], write: Callable[..., Path]
) -> None:
    with pytest.raises(StoreError, match=f"expected the tokenizer {'d' * 64}, which"):
        run(write([Document("abc", {})]), tokenizer="d" * 64)


def test_a_bad_record_stops_it(run: Callable[..., list[Path]], tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text":"a"}\nbad\n')
    with pytest.raises(barrow.errors.BadRecord, match="x.jsonl, frame 0, document 1: not JSON"):
        run(path)
