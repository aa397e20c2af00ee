"""From a recipe and a folder of raw files to a corpus."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import time
from pathlib import Path
from typing import Any

from barrow import config
from barrow.corpus.build.publish import INDEX, publish, write_if_changed
from barrow.corpus.build.raw_files import HashCache
from barrow.corpus.build.sources import find_sources
from barrow.corpus.folder import RECIPE, REJECTS, WORK
from barrow.corpus.mixture import SPLITS
from barrow.corpus.recipe import Recipe
from barrow.corpus.takedown.commit import complete_before_build
from barrow.corpus.takedown.rules import LIST, load_list
from barrow.corpus.times import write_times
from barrow.engine import Engine, File, Progress, Stages, Store
from barrow.errors import MissingExtra, NotFound
from barrow.files import (
    local_path,
    locked,
    make_folder,
    remove_result,
    remove_unfinished,
    sha256_of,
)


def build(
    recipe: Recipe,
    *,
    root: Path,
    out: Path,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Build a corpus; return its manifest, which is also saved beside it.

    `root` has a folder for each domain. `out` becomes an archive of the training split. Beside it
    are archives of `validation`, `test` and the rejects, the recipe, the manifest, a datasheet, a
    report, an index for later deduplication, and a cache of finished tasks without their texts, so
    that the next build only does what changed. All bytes but the cache and the times that it took
    depend on the recipe and the raw files alone; the owner's sections of an existing datasheet are
    kept.
    """
    progress = progress or Progress()
    for library in ("numba", "safetensors"):
        if importlib.util.find_spec(library) is None:
            raise MissingExtra(library, "corpus", "building a corpus")
    if not root.is_dir():
        raise NotFound(f"{root} is not a folder of raw files")
    refuse_foreign_folder(local_path(out))
    make_folder(out)
    complete_before_build(out)
    with contextlib.suppress(FileExistsError), locked(out):  # unless another build writes there
        for folder in (out, *(out / name for name in (*SPLITS[1:], REJECTS))):
            remove_unfinished(folder)
            remove_unfinished(folder / INDEX)
    # Builds may share it; a takedown may not.
    with locked(out, is_shared=True):
        made, stages = _build(recipe, root, out, engine or Engine(), progress)
    # Texts between stages go once everything is published, unless another build needs them.
    with contextlib.suppress(FileExistsError), locked(out):
        stages.clean()
    return made


def _build(
    recipe: Recipe, root: Path, out: Path, engine: Engine, progress: Progress
) -> tuple[dict[str, Any], Stages]:
    # Not earlier: workers that read raw files need no compiled kernels.
    from barrow.corpus.build.stages import run_stages
    from barrow.corpus.manifest import MANIFEST, manifest
    from barrow.corpus.report.write import write_papers

    began, began_cpu = time.perf_counter(), time.process_time()
    cache = HashCache(out / WORK / "hashes.json")
    with Stages(Store(out / WORK / "tasks"), engine, progress) as stages:
        sources, missing = find_sources(recipe, root, cache, progress, apart_from=out)
        cache.save()
        spent = time.perf_counter() - began, time.process_time() - began_cpu
        stages.add_time(cache.took(*spent))
        # What was taken down must not come back, nor stay in the cache.
        taken = load_list(out)
        takedown = None
        if taken is not None:
            takedown = File(out / LIST, sha256_of(out / LIST))
        built = run_stages(sources, recipe, stages, takedown=takedown)
    # The other folders first: a reader of the new catalog finds all that belongs to it.
    publish(out / REJECTS, built.rejects)
    write_if_changed(out / RECIPE, config.to_json(recipe))
    shards = {
        split: publish(out if split == "train" else out / split, built.shards[split])
        for split in reversed(SPLITS)
        if built.shards[split] or split == "train"
    }
    for split in SPLITS:  # of an earlier build that had this split
        if split not in shards and (out / split / "archive.json").exists():
            remove_result(out / split)
    made = manifest(
        recipe,
        missing,
        built,
        {split: shards[split] for split in SPLITS if split in shards},
        version_number=taken.version if taken is not None else 1,
    )
    write_if_changed(out / MANIFEST, json.dumps(made, indent=1, ensure_ascii=False) + "\n")
    write_times(out, stages.times, engine=engine, seconds=time.perf_counter() - began)
    write_papers(out, made, recipe)
    return made, stages


def refuse_foreign_folder(out: Path) -> None:
    """Raise if a corpus cannot be built there."""
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"{out} is a file; choose a folder for the corpus")
    ours = (out / WORK).is_dir() or (out / RECIPE).is_file()
    if out.is_dir() and any(out.iterdir()) and not ours:
        raise FileExistsError(
            f"{out} is not empty and was not created by `barrow build`; choose another folder"
        )
