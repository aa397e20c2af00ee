"""The stage that makes the index of evaluation sets, once for all parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from barrow.corpus.decontaminate import ngram_index, read_items, save_index
from barrow.corpus.recipe import Decontamination
from barrow.engine import File, Output, Outputs, Stage, Task
from barrow.errors import NotFound
from barrow.files import sha256_of


@dataclass(frozen=True)
class Settings:
    """The length of an n-gram, and the names of the sets."""

    ngram: int
    names: tuple[str, ...]


class Indexed(Outputs):
    """All n-grams of the sets."""

    ngrams = Output("index.safetensors")


def index_task(decontamination: Decontamination) -> Task[Indexed]:
    """The task for some evaluation sets, named by their content."""
    sets = []
    for name in decontamination.sets:
        path = Path(name)
        if not path.is_file():
            raise NotFound(f"{name}: no such evaluation set")
        sets.append(File(path, sha256_of(path)))
    settings = Settings(decontamination.ngram, tuple(file.path.name for file in sets))
    return INDEX.task("evaluation sets", settings, tuple(sets))


def make_index(settings: Settings, sets: tuple[File, ...], out: Indexed) -> None:
    """Index all n-grams of some evaluation sets."""
    items = (
        item
        for file, name in zip(sets, settings.names, strict=True)
        for item in read_items(file.path, name=name)
    )
    save_index(ngram_index(items, ngram=settings.ngram), out.ngrams.path)


INDEX = Stage("corpus.index", 3, make_index, Indexed)
