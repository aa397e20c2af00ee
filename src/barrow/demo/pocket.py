"""The pocket corpus: eight domains of text already on a machine with barrow.

`prepare` collects raw files, `recipe` reads them. Each domain is what its name says: the modules
of Python's standard library, C files of numpy, numba and the interpreter, docstrings of packages,
the help texts of the language, descriptions and licences of installed packages, manual pages
as they are written (roff), and generated arithmetic. A domain of which a machine has too
little (many have no manual pages) is left out, and `prepare` returns why.

The same machine gives the same files, and so the same corpus.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import importlib.util
import json
import re
import sysconfig
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

from barrow.corpus import (
    Deduplication,
    DmMathematics,
    Domain,
    GitHub,
    Markdown,
    Passages,
    PlainText,
    Recipe,
    Records,
    Splits,
)
from barrow.corpus.arithmetic import MODULES, problems
from barrow.files import make_folder, remove_tree, write_bytes, write_part

# A name, and what is in the file.
Files = Iterator[tuple[str, bytes]]

MANUAL = Path("/usr/share/man")
# barrow needs most of them, so they are there wherever the demo runs.
_PACKAGES = (
    *("numpy", "numba", "llvmlite", "fsspec", "msgspec", "rich", "typer", "click", "pygments"),
    *("huggingface_hub", "jax", "optax"),
)
_DOCSTRINGS_LICENCE = "Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause AND MIT"
_C_LICENCE = "BSD-2-Clause AND BSD-3-Clause AND PSF-2.0"
_SKIP = frozenset(("site-packages", "dist-packages", "test", "tests", "idle_test", "pydoc_data"))
_MARK = ".pocket"
_PART = 1500  # characters of a part of a long text, at least
_SHORTEST_DOCSTRING = 300
_LARGEST_FILE = 20_000  # small enough that each domain has a hundred files
# A domain with less than this share of its bytes would have nothing in the test split.
_ENOUGH = 0.25


class _Source(NamedTuple):
    domain: Domain
    files: Callable[[], Files]
    megabytes: float


def recipe() -> Recipe:
    """The domains; one whose folder `prepare` left out is skipped.

    A passage is cut at 13 words, as long as a contaminated run: so the test split shares next to
    nothing with the training split, though packages share licences and C files their headers.
    """
    return Recipe(
        name="pocket",
        domains={folder: source.domain for folder, source in _sources().items()},
        deduplication=Deduplication(passages=Passages(min_words=13), budgets={"Licences": 0.9}),
        splits=Splits(validation=0.02, test=0.08),
        missing="skip",
    )


def prepare(root: Path, *, share: float = 1.0) -> dict[str, str]:
    """Collect the raw files, in place of those of an earlier call; `share` of the usual 6 MB.

    Returns the folders that are left out, and why.
    """
    if root.exists():
        if not (root / _MARK).exists():
            raise FileExistsError(
                f"{root} exists and was not created by the demo; choose another folder"
            )
        remove_tree(root)
    write_bytes(root / _MARK, b"")
    left_out = {}
    for folder, source in _sources().items():
        limit = int(source.megabytes * share * 1e6)
        files = dict(_until(source.files(), limit))
        size = sum(map(len, files.values()))
        if size < _ENOUGH * limit:
            left_out[folder] = f"{size // 1000:,} kB here, at least {_ENOUGH * limit / 1e3:,.0f}"
            continue
        for name, data in files.items():
            path = root / folder / name
            make_folder(path.parent)
            write_part(path, data)
    return left_out


def _sources() -> dict[str, _Source]:
    """What is in each folder, where it comes from, and how much of it is taken."""
    math = DmMathematics(document_bytes=2048)
    return {
        "python_code": _Source(Domain("Python Code", GitHub(), "PSF-2.0"), _python_code, 2.2),
        "c_code": _Source(Domain("C Code", GitHub(), _C_LICENCE), _c_code, 0.8),
        "docstrings": _Source(
            Domain("Docstrings", Records(), _DOCSTRINGS_LICENCE, language="en"), _docstrings, 1.0
        ),
        "python_help": _Source(
            Domain("Python Help", PlainText(), "PSF-2.0", language="en"), _python_help, 0.5
        ),
        "package_descriptions": _Source(
            Domain("Package Descriptions", Markdown(), language="en"), _descriptions, 0.4
        ),
        "licences": _Source(Domain("Licences", PlainText(), language="en"), _licences, 0.3),
        "manual_pages": _Source(
            Domain("Manual Pages (roff)", PlainText(), language="en"), _manual_pages, 0.5
        ),
        "arithmetic": _Source(Domain("Arithmetic", math, "CC0-1.0", language="en"), _problems, 0.4),
    }


def _until(files: Files, limit: int) -> Files:
    """Files up to so many bytes."""
    total = 0
    for name, data in files:
        total += len(data)
        if total > limit:
            return
        yield name, data


def _python_code() -> Files:
    library = Path(sysconfig.get_path("stdlib"))
    for path in _mixed(library.rglob("*.py"), library):
        yield f"stdlib/{path.relative_to(library).as_posix()}", path.read_bytes()


def _c_code() -> Files:
    """C and headers of numpy and numba, then the interpreter's headers where they are installed."""
    roots = {name: _home_of(name) for name in ("numpy", "numba")}
    roots["python"] = Path(sysconfig.get_path("include"))
    for name, root in roots.items():
        if root is not None:
            for path in _mixed((*root.rglob("*.h"), *root.rglob("*.c")), root):
                yield f"{name}/{path.relative_to(root).as_posix()}", path.read_bytes()


def _docstrings() -> Files:
    """Those that are long enough, a file of JSON lines for each module."""
    homes = ((name, _home_of(name)) for name in _PACKAGES)
    found = [
        (f"{name}/{path.relative_to(home).as_posix()}", path)
        for name, home in homes
        if home is not None
        for path in _mixed(home.rglob("*.py"), home)
    ]
    for name, path in sorted(found, key=lambda one: _digest(one[0])):
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        lines = [
            json.dumps({"text": text, "meta": {"title": title}}) + "\n"
            for title, text in docstrings(_text_of(path), module)
            if len(text) >= _SHORTEST_DOCSTRING
        ]
        if lines:
            yield f"{module}.jsonl", "".join(lines).encode()


def docstrings(source: str, module: str) -> Iterator[tuple[str, str]]:
    """The docstrings of a file with their dotted names; none if it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the file's own, about its escapes
            waiting: list[tuple[str, ast.AST]] = [(module, ast.parse(source))]
    except (SyntaxError, ValueError):
        return
    while waiting:
        name, node = waiting.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if text := ast.get_docstring(node):
                yield name, text
            inner = (child for child in node.body if hasattr(child, "name"))
            waiting += [(f"{name}.{child.name}", child) for child in inner]


def _python_help() -> Files:
    """The texts of `help("…")` about the language."""
    from pydoc_data.topics import topics

    return _parts(((f"{name}.txt", text) for name, text in topics.items()))


def _descriptions() -> Files:
    """The pages that packages have on an index: mostly Markdown, some reStructuredText."""
    found = []
    for distribution in distributions():
        text = distribution.metadata.json.get("description")
        if isinstance(text, str):
            kind = str(distribution.metadata.json.get("description_content_type"))
            found.append((f"{distribution.name}{'.md' if 'markdown' in kind else '.rst'}", text))
    return _parts(found)


def _licences() -> Files:
    found = []
    for distribution in distributions():
        for file in distribution.files or ():
            if file.name.upper().startswith(("LICEN", "NOTICE", "COPYING")):
                name = re.sub(r"[^\w.+-]", "_", f"{distribution.name}.{file}")[-150:]
                found.append((f"{name}.txt", _text_of(Path(str(file.locate())))))
    return _parts(found)


def _manual_pages() -> Files:
    """Pages in English, unpacked; not those that only name another page."""
    for path in _mixed(MANUAL.glob("man[1-8]/*"), MANUAL):
        data = path.read_bytes()
        if path.suffix == ".gz":
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError, zlib.error):
                continue
        if len(data) < _LARGEST_FILE and not data.startswith(b".so "):
            yield f"{path.name.removesuffix('.gz')}.txt", data


def _problems() -> Files:
    for module in MODULES:
        lines = (f"{question}\n{answer}\n" for question, answer in problems(module, 0, 500))
        yield f"generated/{module}.txt", "".join(lines).encode()


def _parts(texts: Iterable[tuple[str, str]]) -> Files:
    """Texts cut at blank lines, so that each domain has documents enough; no part twice."""
    used = set()
    for name, text in sorted(texts, key=lambda one: _digest(one[0])):
        stem, dot, ending = name.rpartition(".")
        held: list[str] = []
        blocks = [block for block in re.split(r"\n(?:[ \t]*\n)+", text.replace("\r", "")) if block]
        for number, block in enumerate(blocks, 1):
            held.append(block)
            if sum(map(len, held)) >= _PART or number == len(blocks):
                part = "\n\n".join(held).encode("utf-8", "replace")
                held = []
                if part not in used:
                    used.add(part)
                    yield f"{stem}.{number}{dot}{ending}", part


def _mixed(paths: Iterable[Path], root: Path) -> list[Path]:
    """Files below a root that are not too large, in an order that depends on their names alone."""
    inside = [
        path
        for path in paths
        if path.is_file()
        and not path.is_symlink()
        and _SKIP.isdisjoint(path.relative_to(root).parts)
        and 0 < path.stat().st_size < _LARGEST_FILE
    ]
    return sorted(inside, key=lambda path: _digest(path.relative_to(root).as_posix()))


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def _home_of(package: str) -> Path | None:
    """The folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _text_of(path: Path) -> str:
    """The file as text; empty if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError):
        return ""
