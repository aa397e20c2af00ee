"""Python files that real text is taken from: each gives its code, or its prose, never both."""

from __future__ import annotations

import hashlib
import importlib.util
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# What barrow needs itself, so that most of it is installed wherever the demo runs. With the
# standard library they are under these licences.
PACKAGES = (
    *("numpy", "numba", "llvmlite", "fsspec", "msgspec", "rich", "typer", "click", "pygments"),
    *("huggingface_hub", "pip", "jax", "optax"),
)
LICENCE = "Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause AND MIT AND PSF-2.0"
_SKIP = frozenset(
    [
        *("site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"),
        *("_vendor", "lib2to3", "turtledemo", "pydoc_data"),
    ]
)
_TOO_LARGE = 100_000  # for the reader of repositories, which leaves such files out


class Donor(NamedTuple):
    """A Python file: its package (none for the standard library), dotted name, and place."""

    package: str
    module: str
    path: Path

    def text(self) -> str:
        """The source; nothing of a file that is not UTF-8."""
        try:
            return self.path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            return ""


def donors() -> list[Donor]:
    """The standard library's files and the packages', in an order that mixes them.

    The order depends on their names alone.
    """
    found = list(_under(Path(sysconfig.get_path("stdlib")), ""))
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            found += _under(Path(spec.origin).parent, name)
    return sorted(found, key=lambda donor: hashlib.sha256(donor.module.encode()).digest())


def divided(found: list[Donor], *, num_bytes: int) -> tuple[list[Donor], list[Donor]]:
    """Files of the standard library of so many bytes that give their code, and all others."""
    code: list[Donor] = []
    prose: list[Donor] = []
    total = 0
    for donor in found:
        size = donor.path.stat().st_size
        if not donor.package and size < _TOO_LARGE and total + size <= num_bytes:
            total += size
            code.append(donor)
        else:
            prose.append(donor)
    return code, prose


def _under(root: Path, package: str) -> Iterator[Donor]:
    for path in root.rglob("*.py"):
        relative = path.relative_to(root)
        if _SKIP.isdisjoint(relative.parts):
            parts = [part for part in (package, *relative.with_suffix("").parts) if part]
            yield Donor(package, ".".join(parts).removesuffix(".__init__"), path)
