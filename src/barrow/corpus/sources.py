"""From a recipe to the raw files of its domains, and the tasks that read them."""

from __future__ import annotations

import difflib
import inspect
from dataclasses import dataclass
from pathlib import Path

from barrow import config
from barrow.corpus import read_stage
from barrow.corpus.progress import Progress
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
from barrow.corpus.takedown_rules import takedown_hash
from barrow.engine import Task
from barrow.errors import ConfigError, NotFound

# Small files are read together: a task costs some milliseconds.
_BATCH_BYTES = 1 << 26
_BATCH_FILES = 500


@dataclass(frozen=True)
class Source:
    """The raw files of one domain, in groups that are read together."""

    folder: str
    domain: Domain
    reader: Reader
    groups: list[list[RawFile]]
    beside: list[RawFile]
    unread: list[str]


def find_sources(
    recipe: Recipe, root: Path, cache: HashCache, progress: Progress, *, apart_from: Path
) -> tuple[list[Source], dict[str, str]]:
    """What the recipe's domains are read from, and which of them are missing, and why.

    The folder of the corpus may lie among the raw files; nothing is read from there.
    """
    written = apart_from.resolve()
    missing: dict[str, str] = {}
    found: list[tuple[str, Domain, Reader, list[Path], list[Path]]] = []
    for folder, domain in recipe.domains.items():
        if domain.reader not in READER_NAMES:
            missing[folder] = f"there is no reader {domain.reader!r}"
            continue
        reader = reader_named(domain.reader)
        _check_options(domain, reader)
        find = find_folders if reader.folders else find_files
        paths, unread = find(root / folder, domain.paths or reader.patterns)
        if written.is_relative_to((root / folder).resolve()):
            paths, unread = (
                [path for path in some if not path.resolve().is_relative_to(written)]
                for some in (paths, unread)
            )
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
            Source(
                folder,
                domain,
                reader,
                [[raw[path] for path in group] for group in groups],
                [raw.get(path) or cache.raw_file(path, root, lambda _: None) for path in beside],
                [portable_name(path, root) for path in unread],
            )
        )
    return sources, missing


def _check_options(domain: Domain, reader: Reader) -> None:
    """Refuse options that the reader does not have: it would fail on every file."""
    known = [
        name
        for name, parameter in inspect.signature(reader.read).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name != "beside"
    ]
    for name in domain.options:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            raise ConfigError(
                f"{domain.name}: the reader {domain.reader!r} has no option {name!r}; {hint}"
            )


def _size(path: Path) -> int:
    if not path.is_dir():
        return path.stat().st_size
    return sum(file.stat().st_size for file in find_files(path, ("**/*",))[0])


def read_tasks(source: Source, recipe: Recipe, *, takedown: Path | None = None) -> list[Task]:
    """Tasks that read a domain's files, small ones together, but for what a list takes down."""
    tasks: list[Task] = []
    batch: list[list[RawFile]] = []
    for group in source.groups:
        if batch and _is_full([*batch, group]):
            tasks.append(_read_task(source, recipe, batch, takedown))
            batch = []
        batch.append(group)
    tasks.append(_read_task(source, recipe, batch, takedown))
    return tasks


def _is_full(batch: list[list[RawFile]]) -> bool:
    files = [file for group in batch for file in group]
    return len(files) > _BATCH_FILES or sum(file.size for file in files) > _BATCH_BYTES


def _read_task(
    source: Source, recipe: Recipe, batch: list[list[RawFile]], takedown: Path | None
) -> Task:
    files = [file for group in batch for file in group]
    places = iter(range(len(files)))
    domain = source.domain
    # Named only where there are any, so that the work of other readers stays done.
    beside = {"beside": [file.sha256 for file in source.beside]} if source.beside else {}
    taken = {"takedown": takedown_hash(takedown)} if takedown is not None else {}
    return Task(
        label=f"{source.folder}: {files[0].name}" + (" …" if len(files) > 1 else ""),
        function=read_stage.read_raw,
        version=read_stage.VERSION,
        settings=beside
        | taken
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
        files=(
            *(file.path for file in (*files, *source.beside)),
            *([str(takedown)] if takedown is not None else []),
        ),
        size=sum(file.size for file in files),
    )
