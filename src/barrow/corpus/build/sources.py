"""From a recipe to the raw files of its domains."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePath

from barrow.corpus.build.raw_files import (
    HashCache,
    RawFile,
    find_files,
    find_folders,
    portable_name,
)
from barrow.corpus.recipe import Domain, Recipe
from barrow.corpus.times import HASHING
from barrow.engine import Progress
from barrow.errors import NotFound, UnsafeName

# What programs that fetch leave beside the files they fetched.
_OF_CRAWLERS = re.compile(
    r"robots\.txt|ads\.txt|cookies\.txt|wget-log(?:\.\d+)?|hts-(?:log|cache)\b.*"
    r"|(?:.*[-_.])?(?:crawl|crawler|wget|scrapy|heritrix|httrack)(?:[-_.].*)?\.log(?:\.txt|\.gz)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Source:
    """The raw files of one domain, in groups that are read together."""

    folder: str
    domain: Domain
    groups: list[list[RawFile]]
    beside: list[RawFile]
    unread: list[str]


def find_sources(
    recipe: Recipe, root: Path, cache: HashCache, progress: Progress, *, apart_from: Path
) -> tuple[list[Source], dict[str, str]]:
    """The files of the recipe's domains, and the missing domains with the reason.

    The folder of the corpus may be inside the root; nothing is read from it. A recipe may be from a
    stranger: nothing is read outside the root but what links under it lead to.
    """
    written = apart_from.resolve()
    missing: dict[str, str] = {}
    found: list[tuple[str, Domain, list[Path], list[Path]]] = []
    for folder, domain in recipe.domains.items():
        reader = domain.reader
        find = find_folders if reader.folders else find_files
        _refuse_outside(folder, domain)
        paths, unread = find(root / folder, domain.paths or reader.patterns)
        if domain.paths:
            unread = []  # files were chosen by name; what else is in their folder is unrelated
        else:
            others = [path for path in paths if _is_no_document(path.relative_to(root / folder))]
            unread = sorted([*unread, *others], key=os.fsencode)
            paths = [path for path in paths if path not in set(others)]
        if written.is_relative_to((root / folder).resolve()):
            paths, unread = (
                [path for path in some if not path.resolve().is_relative_to(written)]
                for some in (paths, unread)
            )
        if paths:
            found.append((folder, domain, paths, unread))
        else:
            missing[folder] = f"no files that {type(reader).__name__} reads"
    if missing and recipe.missing == "error":
        folder, why = next(iter(missing.items()))
        raise NotFound(
            f"{root / folder}: {why}"
            + (f" (and {len(missing) - 1} more domains)" if len(missing) > 1 else "")
            + "; pass --missing skip to leave such domains out"
        )
    if not found:
        raise NotFound(f"{root} contains no file that the recipe {recipe.name!r} reads")
    progress.on_plan(HASHING, sum(_size(path) for *_, paths, _ in found for path in paths))
    sources = []
    for folder, domain, paths, unread in found:
        raw = {
            path: (cache.raw_folder if path.is_dir() else cache.raw_file)(
                path, root, progress.on_bytes
            )
            for path in paths
        }
        beside, _ = find_files(root / folder, domain.reader.beside)
        sources.append(
            Source(
                folder,
                domain,
                [[raw[path] for path in group] for group in domain.reader.group(paths)],
                [raw.get(path) or cache.raw_file(path, root, lambda _: None) for path in beside],
                [portable_name(path, root) for path in unread],
            )
        )
    return sources, missing


def _refuse_outside(folder: str, domain: Domain) -> None:
    for name in (folder, *domain.paths):
        path = PurePath(name)
        if path.is_absolute() or ".." in path.parts:
            raise UnsafeName(
                f"{name!r} of the domain {domain.name!r} leads out of the folder of raw files; "
                "name what is under it, or put a link there"
            )


def _is_no_document(path: Path) -> bool:
    """Whether a file under a domain's folder is hidden, or written by a crawler for itself."""
    return path.name[:1] == "." or any(
        part[:1] == "." or _OF_CRAWLERS.fullmatch(part) for part in path.parts
    )


def _size(path: Path) -> int:
    if not path.is_dir():
        return path.stat().st_size
    return sum(file.stat().st_size for file in find_files(path, ("**/*",))[0])
