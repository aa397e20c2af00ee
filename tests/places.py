"""Which files of a folder that is shared name a place on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

TEXTS = (".json", ".jsonl", ".md", ".html", ".jinja", ".txt", ".csv")


def naming(place: Path, written: Iterable[Path]) -> list[str]:
    """Names of texts, and of files of arrays by their headers, that contain a path."""

    def head(file: Path) -> bytes:
        data = file.read_bytes()
        is_text = file.suffix in TEXTS
        return data if is_text else data[: 8 + int.from_bytes(data[:8], "little")]

    found = [one for path in written for one in (path, *path.rglob("*"))]
    files = [one for one in found if one.suffix in (*TEXTS, ".safetensors")]
    assert files
    return sorted(one.name for one in files if str(place).encode() in head(one))
