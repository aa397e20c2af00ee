"""From a recipe and a folder of raw files to a corpus."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from barrow import config
from barrow.archive.catalog import Catalog, ShardEntry, write_catalog
from barrow.corpus import assemble_stage, read_stage
from barrow.corpus.raw_files import (
    HashCache,
    RawFile,
    find_files,
    find_folders,
    portable_name,
)
from barrow.corpus.reader_table import READER_NAMES, reader_named
from barrow.corpus.reading import Reader
from barrow.corpus.recipe import Domain, Recipe
from barrow.engine import Engine, Store, Task, run
from barrow.errors import ConfigError, NotFound

RECIPE = "recipe.json"
REPORT = "build.json"
REJECTS = "rejects"
WORK = ".work"

# Small files are read together: a task costs some milliseconds.
_BATCH_BYTES = 1 << 26
_BATCH_FILES = 500


def _tell_nobody(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Progress:
    """What a build tells while it goes on: a stage and its bytes, then bytes done."""

    on_plan: Callable[[str, int], None] = _tell_nobody
    on_bytes: Callable[[int], None] = _tell_nobody


@dataclass(frozen=True)
class _Source:
    """The raw files of one domain, in groups that are read together."""

    folder: str
    domain: Domain
    reader: Reader
    groups: list[list[RawFile]]
    beside: list[RawFile]
    unread: list[str]


def build(
    recipe: Recipe,
    *,
    root: Path,
    out: Path,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Build a corpus; return its report, which is also saved beside it.

    `root` holds a folder for each domain. `out` becomes an archive, with the recipe, the report and
    an archive of rejects beside the shards, and a folder of finished work that makes the next build
    do only what changed. The bytes of all but that folder depend on the recipe and the raw files
    alone.
    """
    engine = engine or Engine()
    progress = progress or Progress()
    if not root.is_dir():
        raise NotFound(f"{root} is no folder of raw files")
    _refuse_foreign_folder(out)
    store = Store(out / WORK / "tasks")
    cache = HashCache(out / WORK / "hashes.json")
    sources, missing = _find_sources(recipe, root, cache, progress)
    cache.save()

    reads = [(source, task) for source in sources for task in _read_tasks(source, recipe)]
    progress.on_plan("Reading", sum(task.size for _, task in reads))
    run(
        [task for _, task in reads],
        store,
        engine,
        on_done=lambda task, _: progress.on_bytes(task.size),
    )
    # The stages that refine (filters, deduplication, decontamination, splits, mixing) go here: each
    # takes the files of documents of the stage before it and leaves files of the same kind.
    results = [store.path(task.key) for _, task in reads]
    keys = {str(store.path(task.key)): task.key for _, task in reads}
    shards = _assemble_tasks([r / read_stage.DOCUMENTS for r in results], keys, recipe.shard_size)
    rejects = _assemble_tasks([r / read_stage.REJECTS for r in results], keys, recipe.shard_size)
    progress.on_plan("Writing", sum(task.size for task in (*shards, *rejects)))
    run([*shards, *rejects], store, engine, on_done=lambda task, _: progress.on_bytes(task.size))
    report = _report(recipe, sources, missing, [(s, store.path(t.key)) for s, t in reads])
    # Beside, then inside: whoever sees the new catalog sees what belongs to it.
    _commit(out / REJECTS, [store.path(task.key) for task in rejects])
    _write_if_changed(out / RECIPE, config.to_json(recipe))
    _write_if_changed(out / REPORT, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    _commit(out, [store.path(task.key) for task in shards])
    store.clean({task.key for _, task in reads} | {task.key for task in (*shards, *rejects)})
    return report


def _refuse_foreign_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"{out} is a file; name a folder for the corpus")
    if out.is_dir() and any(out.iterdir()) and not (out / WORK).is_dir():
        raise FileExistsError(f"{out} holds something that is no build; name an empty folder")


def _find_sources(
    recipe: Recipe, root: Path, cache: HashCache, progress: Progress
) -> tuple[list[_Source], dict[str, str]]:
    missing: dict[str, str] = {}
    found: list[tuple[str, Domain, Reader, list[Path], list[Path]]] = []
    for folder, domain in recipe.domains.items():
        if domain.reader not in READER_NAMES:
            missing[folder] = f"there is no reader {domain.reader!r}"
            continue
        reader = reader_named(domain.reader)
        find = find_folders if reader.folders else find_files
        paths, unread = find(root / folder, domain.paths or reader.patterns)
        if paths:
            found.append((folder, domain, reader, paths, unread))
        else:
            missing[folder] = f"no files that the reader {domain.reader!r} reads"
    if missing and recipe.missing == "error":
        folder, why = next(iter(missing.items()))
        raise NotFound(
            f"{root / folder}: {why}"
            + (f" (and {len(missing) - 1} more domains)" if len(missing) > 1 else "")
            + "; pass --missing skip to leave such domains out"
        )
    if not found:
        raise NotFound(f"{root} holds no file that the recipe {recipe.name!r} reads")
    progress.on_plan("Hashing", sum(_size(path) for *_, paths, _ in found for path in paths))
    sources = []
    for folder, domain, reader, paths, unread in found:
        groups = reader.group(paths) if reader.group else [(path,) for path in paths]
        raw = {
            path: (cache.raw_folder if path.is_dir() else cache.raw_file)(
                path, root, progress.on_bytes
            )
            for path in paths
        }
        beside, _ = find_files(root / folder, reader.beside)
        sources.append(
            _Source(
                folder,
                domain,
                reader,
                [[raw[path] for path in group] for group in groups],
                [raw.get(path) or cache.raw_file(path, root, _tell_nobody) for path in beside],
                [portable_name(path, root) for path in unread],
            )
        )
    return sources, missing


def _size(path: Path) -> int:
    if not path.is_dir():
        return path.stat().st_size
    return sum(file.stat().st_size for file in find_files(path, ("**/*",))[0])


def _read_tasks(source: _Source, recipe: Recipe) -> list[Task]:
    tasks: list[Task] = []
    batch: list[list[RawFile]] = []
    for group in source.groups:
        if batch and _is_full([*batch, group]):
            tasks.append(_read_task(source, recipe, batch))
            batch = []
        batch.append(group)
    tasks.append(_read_task(source, recipe, batch))
    return tasks


def _is_full(batch: list[list[RawFile]]) -> bool:
    files = [file for group in batch for file in group]
    return len(files) > _BATCH_FILES or sum(file.size for file in files) > _BATCH_BYTES


def _read_task(source: _Source, recipe: Recipe, batch: list[list[RawFile]]) -> Task:
    files = [file for group in batch for file in group]
    places = iter(range(len(files)))
    domain = source.domain
    # Named only where there are any, so that the work of other readers stays done.
    beside = {"beside": [file.sha256 for file in source.beside]} if source.beside else {}
    return Task(
        label=f"{source.folder}: {files[0].name}" + (" …" if len(files) > 1 else ""),
        function=read_stage.read_raw,
        version=read_stage.VERSION,
        settings=beside
        | {
            "name": domain.name,
            "reader": domain.reader,
            "reader_version": source.reader.version,
            "options": config.to_dict(domain.options),
            "licence": domain.licence,
            "language": domain.language,
            "retrieved": domain.retrieved,
            "names": [file.name for file in files],
            "hashes": [file.sha256 for file in files],
            "groups": [[next(places) for _ in group] for group in batch],
            "seconds_per_document": recipe.seconds_per_document,
            "memory_per_document": recipe.memory_per_document,
            "max_text": recipe.max_text,
        },
        files=tuple(file.path for file in (*files, *source.beside)),
        size=sum(file.size for file in files),
    )


def _assemble_tasks(files: list[Path], keys: dict[str, str], shard_size: int) -> list[Task]:
    tasks = []
    for k, parts in enumerate(assemble_stage.plan_shards([str(f) for f in files], shard_size)):
        names = [f"{keys[str(Path(part.file).parent)]}/{Path(part.file).name}" for part in parts]
        tasks.append(
            Task(
                label=f"shard {k}",
                function=assemble_stage.assemble,
                version=assemble_stage.VERSION,
                settings={"ranges": [[part.start, part.stop] for part in parts]},
                inputs=tuple(names),
                files=tuple(part.file for part in parts),
                size=sum(os.path.getsize(part.file) for part in parts),  # noqa: PTH202
            )
        )
    return tasks


def _report(
    recipe: Recipe,
    sources: list[_Source],
    missing: dict[str, str],
    reads: list[tuple[_Source, Path]],
) -> dict[str, Any]:
    """What the build did, by domain, without a word about when or how fast."""
    domains: dict[str, Any] = {}
    for source in sources:
        told = [
            json.loads((path / read_stage.COUNTS).read_text()) for s, path in reads if s is source
        ]
        rejects: Counter[str] = Counter()
        for counts in told:
            rejects.update(counts["rejects"])
        domains[source.folder] = {
            "name": source.domain.name,
            "extractor": source.reader.extractor,
            "files": sum(counts["files"] for counts in told),
            "documents": sum(counts["documents"] for counts in told),
            "bytes": sum(counts["bytes"] for counts in told),
            "rejects": dict(sorted(rejects.items())),
            "unread_files": len(source.unread),
            "unread_examples": source.unread[:10],
        }
    return {"recipe": recipe.name, "domains": domains, "missing": missing}


def _commit(folder: Path, results: list[Path]) -> None:
    """Make finished shards an archive. Names carry a hash, so the catalog is the one switch."""
    folder.mkdir(parents=True, exist_ok=True)
    entries: list[ShardEntry] = []
    for k, result in enumerate(results):
        entry = msgspec.json.decode((result / assemble_stage.ENTRY).read_bytes(), type=ShardEntry)
        name = f"{k:05d}-{entry.sha256[:8]}.jsonl.zst"
        entries.append(msgspec.structs.replace(entry, name=name))
        if not (folder / name).exists():
            _link_or_copy(result / assemble_stage.SHARD, folder / name)
    catalog = Catalog(shards=tuple(entries))
    with contextlib.suppress(OSError, ConfigError, ValueError):
        saved = msgspec.json.decode((folder / "archive.json").read_bytes(), type=Catalog)
        if saved == catalog:
            return
    write_catalog(folder, catalog)
    _remove_unlisted(folder, {entry.name for entry in entries})


def _link_or_copy(source: Path, target: Path) -> None:
    temporary = target.with_name(f".{target.name}.writing")
    temporary.unlink(missing_ok=True)
    try:
        os.link(source, temporary)
    except OSError:
        shutil.copyfile(source, temporary)
    temporary.replace(target)


def _remove_unlisted(folder: Path, listed: Iterable[str]) -> None:
    for path in folder.glob("[0-9]*-*.jsonl.zst"):
        if path.name not in listed:
            path.unlink()


def _write_if_changed(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        temporary = path.with_name(f".{path.name}.writing")
        temporary.write_text(text)
        temporary.replace(path)
