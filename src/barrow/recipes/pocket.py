"""A pocket pile: four domains from text that every machine with Python has.

`prepare` lays out raw files (the standard library's sources, the language's help topics, licences
and descriptions of installed packages, generated mathematics problems), `recipe` reads them. The
same interpreter and packages give the same files, and so the same corpus.
"""

from __future__ import annotations

import re
import shutil
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

from barrow.corpus import Domain, Recipe
from barrow.corpus.arithmetic import MODULES, problems
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.mix import Splits

_MARK = ".pocket"
_PROBLEMS = 1000
_SKIP = frozenset(["site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"])


def recipe() -> Recipe:
    """Code, reference, legal prose and mathematics."""
    return Recipe(
        name="pocket",
        domains={
            "python_sources": Domain("Python Sources", "github", licence="PSF-2.0"),
            "python_topics": Domain(
                "Python Topics", "plain_text", licence="PSF-2.0", language="en"
            ),
            "package_papers": Domain("Package Papers", "plain_text", language="en"),
            "arithmetic": Domain("Arithmetic", "dm_mathematics", licence="CC0-1.0", language="en"),
        },
        # Packages share their licences: most of those are copies.
        deduplication=Deduplication(budgets={"Package Papers": 0.9}),
        splits=Splits(validation=0.02, test=0.05),
    )


def prepare(root: Path) -> None:
    """Make the raw files, in place of those of an earlier call."""
    if root.exists():
        if not (root / _MARK).exists():
            raise FileExistsError(f"{root} exists and was not made by the demo; name another place")
        shutil.rmtree(root)
    root.mkdir(parents=True)
    (root / _MARK).touch()
    _copy_standard_library(root / "python_sources" / "stdlib")
    for folder, texts in (
        ("python_topics", _topics()),
        ("package_papers", _package_papers()),
        ("arithmetic/generated", _problems()),
    ):
        (root / folder).mkdir(parents=True)
        for name, text in texts:
            (root / folder / f"{name}.txt").write_text(text, encoding="utf-8")


def _copy_standard_library(target: Path) -> None:
    source = Path(sysconfig.get_path("stdlib"))
    for path in sorted(source.rglob("*.py")):
        relative = path.relative_to(source)
        if _SKIP.isdisjoint(relative.parts):
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / relative)


def _topics() -> Iterator[tuple[str, str]]:
    """What `help("...")` says about the language."""
    from pydoc_data.topics import topics

    yield from sorted(topics.items())


def _package_papers() -> Iterator[tuple[str, str]]:
    """Descriptions and licences of the packages installed here."""
    for distribution in sorted(distributions(), key=lambda d: (d.name or "", d.version or "")):
        description = distribution.metadata.json.get("description")
        if isinstance(description, str) and description.strip():
            yield _file_name(f"{distribution.name}.description"), description
        for file in sorted(distribution.files or (), key=str):
            if file.name.upper().startswith(("LICEN", "NOTICE", "COPYING")):
                text = _text_of(Path(str(file.locate())))
                if text:
                    yield _file_name(f"{distribution.name}.{file}"), text


def _problems() -> Iterator[tuple[str, str]]:
    for module in MODULES:
        lines = (f"{question}\n{answer}\n" for question, answer in problems(module, 0, _PROBLEMS))
        yield module, "".join(lines)


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.+-]", "_", text)[-150:]


def _text_of(path: Path) -> str | None:
    """The file as text; None for what is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError):
        return None
