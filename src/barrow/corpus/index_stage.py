"""A task that makes the index of evaluation sets, once for all parts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from barrow.corpus.decontaminate import ngram_index, read_items, save_index
from barrow.engine import Task
from barrow.errors import NotFound
from barrow.files import sha256_of

VERSION = 2
INDEX = "index.safetensors"


def index_task(sets: tuple[str, ...], ngram: int) -> Task:
    """The task for some files, named by their content."""
    hashes = []
    for name in sets:
        path = Path(name)
        if not path.is_file():
            raise NotFound(f"{name}: no such evaluation set")
        hashes.append(sha256_of(path))
    return Task(
        label="evaluation sets",
        function=make_index,
        version=VERSION,
        settings={"ngram": ngram, "names": [Path(name).name for name in sets]},
        inputs=tuple(hashes),
        files=sets,
    )


def make_index(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Index all n-grams of some evaluation sets."""
    items = (
        item
        for path, name in zip(files, settings["names"], strict=True)
        for item in read_items(Path(path), name=name)
    )
    save_index(ngram_index(items, ngram=settings["ngram"]), out / INDEX)
