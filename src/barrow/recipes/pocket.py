"""A pocket pile: four domains made from text that every machine with Python has.

The same interpreter, the same packages and the same seed give the same documents in the same order.
"""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from barrow.archive import Document

_MAX_SOURCE = 100_000
_PROBLEMS_PER_DOCUMENT = 200


def documents(seed: int = 0) -> Iterator[Document]:
    """All domains, one after another."""
    yield from python_sources()
    yield from python_topics()
    yield from package_papers()
    yield from arithmetic(seed)


def python_sources() -> Iterator[Document]:
    """Modules of the standard library, as code."""
    root = Path(sysconfig.get_path("stdlib"))
    skip = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if skip.isdisjoint(relative.parts) and path.stat().st_size <= _MAX_SOURCE:
            text = _read(path)
            if text is not None and text.strip():
                yield _document(text, "Python Sources", f"stdlib/{relative.as_posix()}", "PSF-2.0")


def python_topics() -> Iterator[Document]:
    """What `help("...")` says about the language, as reference prose."""
    from pydoc_data.topics import topics

    for name, text in sorted(topics.items()):
        yield _document(text, "Python Topics", f"pydoc_data.topics/{name}", "PSF-2.0")


def package_papers() -> Iterator[Document]:
    """Licences and descriptions of the packages installed here."""
    installed = sorted(distributions(), key=lambda d: (d.name or "", d.version or ""))
    for distribution in installed:
        licence = _licence(distribution)
        name = distribution.name
        description = distribution.metadata.json.get("description")
        if isinstance(description, str) and description.strip():
            yield _document(description, "Package Papers", f"{name}/description", licence)
        for file in sorted(distribution.files or (), key=str):
            words = file.name.upper()
            if ("LICEN" not in words and "NOTICE" not in words) or file.suffix == ".py":
                continue
            text = _read(Path(str(file.locate())))
            if text is not None and text.strip():
                yield _document(text, "Package Papers", f"{name}/{file}", licence)


def arithmetic(seed: int = 0, num_documents: int = 100) -> Iterator[Document]:
    """Sums, differences, products and remainders, question line and answer line."""
    for number in range(num_documents):
        rng = random.Random(f"{seed} {number}")  # noqa: S311 - problems, not secrets
        lines = [line for _ in range(_PROBLEMS_PER_DOCUMENT) for line in _problem(rng)]
        yield _document(
            "\n".join(lines) + "\n", "Arithmetic", f"generated/{seed}/{number}", "CC0-1.0"
        )


def _problem(rng: random.Random) -> tuple[str, str]:
    a, b = rng.randint(-999, 9999), rng.randint(1, 99)
    kind = rng.choice("+-*%")
    if kind == "+":
        return f"What is {a} + {b}?", str(a + b)
    if kind == "-":
        return f"Calculate {a} - {b}.", str(a - b)
    if kind == "*":
        return f"Multiply {a} and {b}.", str(a * b)
    return f"What is the remainder when {abs(a)} is divided by {b}?", str(abs(a) % b)


def _document(text: str, domain: str, source: str, licence: str) -> Document:
    return Document(text, {"pile_set_name": domain, "source": source, "licence": licence})


def _licence(distribution: Distribution) -> str:
    metadata = distribution.metadata
    stated = metadata["License-Expression"] or metadata["License"] or "unknown"
    return stated.strip().splitlines()[0][:80] if stated.strip() else "unknown"


def _read(path: Path) -> str | None:
    """The file as text; None for what is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError):
        return None
