"""Small corpora for the tests of takedowns, and a search through every byte of a folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import zstandard

import barrow
from barrow.archive import Document
from barrow.corpus import Domain, Recipe, Records, build
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.mixture import Mixture, Splits
from barrow.corpus.takedown.find import find_taken
from barrow.corpus.takedown.rules import Rules
from barrow.corpus.takedown.takedown import take_down
from barrow.engine import Engine
from barrow.files import locked

INLINE = Engine(num_workers=0)
ARCHIVES = ("", "validation", "test")


def sentence(name: str, number: int = 24) -> str:
    """Words that no other name gives."""
    digest = hashlib.shake_256(name.encode()).hexdigest(4 * number)
    return " ".join(digest[8 * k : 8 * k + 8] for k in range(number))


def write_raw(root: Path, records: dict[str, Sequence[dict[str, Any]]]) -> Path:
    """A folder for each domain, with a file of records."""
    for domain, rows in records.items():
        (root / domain).mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        (root / domain / "all.jsonl").write_text("\n".join([*lines, ""]))
    return root


def row(name: str, **meta: Any) -> dict[str, Any]:
    """A record whose text nobody else has."""
    return {"text": f"{name} begins. {sentence(name)}", "meta": {"title": name, **meta}}


def usual_records() -> dict[str, list[dict[str, Any]]]:
    """Two domains with addresses and licences; one text is there three times."""
    letters = [
        row(
            f"letter {n}",
            url=f"https://www.Example.org/{'a' if n % 2 else 'ab'}/{n}?page=1",
            licence="CC0-1.0" if n % 3 else "CC-BY-4.0",
        )
        for n in range(30)
    ]
    notes = [row(f"note {n}") for n in range(20)]
    notes[5] = {"text": "\n" + letters[3]["text"].replace(" ", "  "), "meta": {"title": "again"}}
    notes[6] = {"text": letters[3]["text"], "meta": {"title": "the same"}}
    return {"letters": letters, "notes": notes}


def recipe(*, dedup: bool = False, epochs: float | None = None, shard_size: int = 3000) -> Recipe:
    """For both domains, held out in part."""
    return Recipe(
        name="test",
        domains={
            name: Domain(name.title(), Records(), epochs=epochs) for name in ("letters", "notes")
        },
        deduplication=Deduplication(budget=None) if dedup else None,
        splits=Splits(validation=0.15, test=0.15),
        mixture=Mixture(by="epochs" if epochs else "once"),
        shard_size=shard_size,
    )


def chains(num: int = 6) -> list[dict[str, Any]]:
    """Records in threes: the second is near to the others, which are not near to each other."""
    records = []
    for n in range(num):
        words = sentence(f"chain {n}", 200).split()
        for place in range(3):
            for k in range(30 * place, 30 * place + 30, 10):
                words[k] = f"{words[k][1:]}g" if place else words[k]
            # The longest stays.
            text = " ".join([*words, "x" * (9 - place)])
            records.append({"text": text, "meta": {"title": f"chain {n}, {place}"}})
    return records


def make_corpus(tmp_path: Path, *, name: str = "corpus", **choices: Any) -> Path:
    """A corpus of the usual records."""
    root = tmp_path / "raw"
    if not root.exists():
        write_raw(root, usual_records())
        (root / "notes" / "bad.jsonl").write_text('{"text": broken and ' + sentence("bad") + "\n")
    build(recipe(**choices), root=root, out=tmp_path / name, engine=INLINE)
    return tmp_path / name


def remove(corpus: Path, rules: Rules, *, and_copies: bool = False) -> dict[str, Any]:
    """Take down what some rules find."""
    with locked(corpus):
        finding = find_taken(corpus, rules, and_copies=and_copies)
        return take_down(
            corpus,
            rules,
            finding,
            reason="asked",
            by="tester",
            date="2024-05-06",
            and_copies=and_copies,
        )


def documents(corpus: Path) -> dict[str, list[Document]]:
    """All documents, by archive, in their order."""
    return {
        name: list(barrow.archive.open(corpus / name))
        for name in ARCHIVES
        if (corpus / name / "archive.json").exists()
    }


def titled(corpus: Path, title: str) -> list[Document]:
    """Documents with a title, wherever they are."""
    return [
        document
        for found in documents(corpus).values()
        for document in found
        if document.meta["title"] == title
    ]


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file under a folder, decompressed where it is compressed, JSON with text as it is."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            yield path, data
            if path.name.endswith(".zst") or data[:4] == b"\x28\xb5\x2f\xfd":
                reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
                unpacked = reader.readall()
                yield path, unpacked
                for line in unpacked.splitlines():
                    yield path, json.loads(line)["text"].encode()


def files_with(folder: Path, wanted: Sequence[bytes]) -> list[str]:
    """Files in which one of some byte strings is found."""
    return sorted(
        {
            path.relative_to(folder).as_posix()
            for path, data in contents(folder)
            if any(text in data for text in wanted)
        }
    )


def digests(folder: Path) -> dict[str, str]:
    """sha256 of every file of a corpus, its folder of work and its times apart."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".work" not in path.parts and path.stem != "times"
    }
