"""A pocket pile: 26 domains from text that every machine with barrow has, one for every reader.

`prepare` lays out raw files, `recipe` reads them. Four domains are what their names say: sources of
Python's standard library, the language's help topics, descriptions and licences of installed
packages, generated mathematics problems. The others are samples of every other raw format that
a reader takes: their text is prose from docstrings and comments of the standard library and of the
packages that barrow needs, put into the structure of a web crawl, a patent, a chat. They show that
the readers work and what a corpus of many domains looks like; nobody ever said these things in a
court. No paragraph goes to two domains, and what gives prose does not give code.

The same interpreter and packages give the same files, and so the same corpus.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import sysconfig
from collections.abc import Collection, Iterator
from importlib.metadata import distributions
from pathlib import Path

from barrow.corpus import (
    Deduplication,
    DmMathematics,
    Domain,
    GitHub,
    PlainText,
    Recipe,
    Splits,
)
from barrow.corpus.arithmetic import MODULES, problems
from barrow.recipes.pocket_samples.deal import Paragraphs, deal
from barrow.recipes.pocket_samples.donors import LICENCE, Donor, divided, donors
from barrow.recipes.pocket_samples.pieces import pieces_of
from barrow.recipes.pocket_samples.plain_parts import plain_parts
from barrow.recipes.pocket_samples.table import SAMPLES

_MARK = ".pocket"
_PROBLEMS = 1000
# With 250 documents in every domain, a twentieth of the bytes holds out two of each but in one
# corpus of a thousand; with 200, in one of a hundred.
_ARTICLES = 270
_PART = 1200
_SOURCES = 6_000_000
_PAPERS = 600_000


def recipe(*, left_out: Collection[str] = ()) -> Recipe:
    """Every reader once and more; without the folders that are `left_out`."""
    domains = {
        "python_sources": Domain("Python Sources", GitHub(), licence="PSF-2.0"),
        "python_topics": Domain("Python Topics", PlainText(), licence="PSF-2.0", language="en"),
        "package_papers": Domain("Package Papers", PlainText(), language="en"),
        "arithmetic": Domain(
            "Arithmetic", DmMathematics(document_bytes=4096), "CC0-1.0", language="en"
        ),
    }
    for sample in SAMPLES:
        domains[sample.folder] = Domain(sample.name, sample.reader, LICENCE, language="en")
    return Recipe(
        name="pocket",
        domains={folder: domains[folder] for folder in domains if folder not in left_out},
        # Packages share their licences: most of those are copies.
        deduplication=Deduplication(budgets={"Package Papers": 0.9}),
        splits=Splits(validation=0.02, test=0.05),
    )


def missing_extras() -> dict[str, str]:
    """Folders whose reader needs a library that is not installed, and the extra that brings it."""
    return {
        sample.folder: sample.extra
        for sample in SAMPLES
        if sample.module and importlib.util.find_spec(sample.module) is None
    }


def prepare(root: Path, *, left_out: Collection[str] = (), num_articles: int = _ARTICLES) -> None:
    """Make the raw files, in place of those of an earlier call.

    Each sample has `num_articles`, or all as many as there is text for. Without the folders that
    are `left_out` the others are as they would be with them.
    """
    if root.exists():
        if not (root / _MARK).exists():
            raise FileExistsError(f"{root} exists and was not made by the demo; name another place")
        shutil.rmtree(root)
    root.mkdir(parents=True)
    (root / _MARK).touch()
    for folder, name, data in _raw_files(num_articles, left_out):
        path = root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _raw_files(num_articles: int, left_out: Collection[str]) -> Iterator[tuple[str, str, bytes]]:
    used = Paragraphs()
    for folder, texts in (
        ("python_topics", _topics(used)),
        ("package_papers", _package_papers(used)),
        ("arithmetic", _problems()),
    ):
        # Taken even if it is left out, so that the others do not change.
        made = [(folder, f"{name}.txt", text.encode()) for name, text in texts]
        yield from made if folder not in left_out else ()
    code, prose = divided(donors(), num_bytes=_SOURCES)
    if "python_sources" not in left_out:
        yield from _sources(code)
    for donor in code:  # what they say is said
        used.take_all(donor.text())
        for piece in pieces_of(donor.text(), donor.module):
            used.take_all("\n\n".join(piece.paragraphs))
    pieces = (piece for donor in prose for piece in pieces_of(donor.text(), donor.module))
    hands = deal(used.fresh(pieces), [sample.size for sample in SAMPLES], num=num_articles)
    for sample, articles in zip(SAMPLES, hands, strict=True):
        if sample.folder not in left_out:
            for name, data in sample.files(articles):
                yield sample.folder, name, data


def _sources(code: list[Donor]) -> Iterator[tuple[str, str, bytes]]:
    library = Path(sysconfig.get_path("stdlib"))
    for donor in code:
        name = donor.path.relative_to(library).as_posix()
        yield "python_sources", f"stdlib/{name}", donor.path.read_bytes()


def _topics(used: Paragraphs) -> Iterator[tuple[str, str]]:
    """What `help("...")` says about the language, in parts."""
    from pydoc_data.topics import topics

    for name, text in sorted(topics.items()):
        yield from _numbered(name, plain_parts(text, used, size=_PART))


def _package_papers(used: Paragraphs) -> Iterator[tuple[str, str]]:
    """Descriptions and licences of packages installed here, in parts, up to 600 kB of them."""
    papers = sorted(_papers(), key=lambda paper: hashlib.sha256(paper[0].encode()).digest())
    total = 0
    for name, text in papers:
        for part in _numbered(name, plain_parts(text, used, size=_PART)):
            yield part
            total += len(part[1])
        if total >= _PAPERS:
            return


def _papers() -> Iterator[tuple[str, str]]:
    for distribution in sorted(distributions(), key=lambda d: (d.name or "", d.version or "")):
        description = distribution.metadata.json.get("description")
        if isinstance(description, str) and description.strip():
            yield _file_name(f"{distribution.name}.description"), description
        for file in sorted(distribution.files or (), key=str):
            if file.name.upper().startswith(("LICEN", "NOTICE", "COPYING")):
                text = _text_of(Path(str(file.locate())))
                if text:
                    yield _file_name(f"{distribution.name}.{file}"), text


def _numbered(name: str, parts: Iterator[str]) -> Iterator[tuple[str, str]]:
    for number, part in enumerate(parts, 1):
        yield f"{name}.{number}", part


def _problems() -> Iterator[tuple[str, str]]:
    for module in MODULES:
        lines = (f"{question}\n{answer}\n" for question, answer in problems(module, 0, _PROBLEMS))
        yield f"generated/{module}", "".join(lines)


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.+-]", "_", text)[-150:]


def _text_of(path: Path) -> str | None:
    """The file as text; None for what is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError):
        return None
