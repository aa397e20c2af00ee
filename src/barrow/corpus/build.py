"""From a recipe and a folder of raw files to a corpus."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from pathlib import Path
from typing import Any

from barrow import config
from barrow.corpus import assemble_stage, read_stage
from barrow.corpus.corpus_folder import RECIPE, REJECTS, WORK
from barrow.corpus.mix import SPLITS
from barrow.corpus.parts import cut
from barrow.corpus.progress import Progress
from barrow.corpus.publish import publish, write_if_changed
from barrow.corpus.raw_files import HashCache
from barrow.corpus.recipe import Recipe
from barrow.corpus.sources import find_sources, read_tasks
from barrow.corpus.takedown_commit import complete_before_build
from barrow.corpus.takedown_rules import LIST, load_list
from barrow.engine import Engine, Store, Task, Team
from barrow.errors import MissingExtra, NotFound
from barrow.files import local_path, locked, make_folder


def build(
    recipe: Recipe,
    *,
    root: Path,
    out: Path,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Build a corpus; return its manifest, which is also saved beside it.

    `root` holds a folder for each domain. `out` becomes an archive of what is to be trained on,
    with archives of what is held out (`validation`, `test`) and of rejects beside it, the recipe,
    the manifest, a datasheet and a report, an index for later deduplication, and a folder of
    finished work that makes the next build do only what changed. The bytes of all but that folder
    depend on the recipe and the raw files alone; only what an owner writes into the places of the
    datasheet that are theirs stays as it is.
    """
    progress = progress or Progress()
    for library in ("numba", "safetensors"):
        if importlib.util.find_spec(library) is None:
            raise MissingExtra(library, "corpus", "building a corpus")
    if not root.is_dir():
        raise NotFound(f"{root} is no folder of raw files")
    _refuse_foreign_folder(local_path(out))
    make_folder(out)
    complete_before_build(out)
    # Builds may share it; a takedown may not.
    with locked(out, is_shared=True):
        return _build(recipe, root, out, engine or Engine(), progress)


def _build(
    recipe: Recipe, root: Path, out: Path, engine: Engine, progress: Progress
) -> dict[str, Any]:
    # Not before: workers that read raw files have no use for compiled kernels.
    from barrow.corpus.manifest import MANIFEST, manifest
    from barrow.corpus.papers import write_papers
    from barrow.corpus.refine import Stages, refine

    store = Store(out / WORK / "tasks")
    cache = HashCache(out / WORK / "hashes.json")
    sources, missing = find_sources(recipe, root, cache, progress, apart_from=out)
    cache.save()

    # What was taken down does not come back, nor does it lie in the folder of finished work.
    taken = load_list(out)
    takedown = out / LIST if taken is not None else None
    reads = [
        (source, task)
        for source in sources
        for task in read_tasks(source, recipe, takedown=takedown)
    ]
    with Team(engine, store) as team:
        stages = Stages(store, team, progress)
        results = stages.run("Reading", [task for _, task in reads])
        parts = [
            part
            for (source, task), result in zip(reads, results, strict=True)
            for part in cut(result / read_stage.DOCUMENTS, task.key, domain=source.folder)
        ]
        refined = refine(parts, recipe, stages)
        rejects = [
            *((r / read_stage.REJECTS, t.key) for (_, t), r in zip(reads, results, strict=True)),
            *refined.rejects,
        ]
        rejected = stages.run("Writing rejects", _assemble_tasks(rejects, recipe.shard_size))
    # Beside, then inside: whoever sees the new catalog sees what belongs to it.
    publish(out / REJECTS, rejected)
    write_if_changed(out / RECIPE, config.to_json(recipe))
    shards = {
        split: publish(out if split == "train" else out / split, refined.shards[split])
        for split in reversed(SPLITS)
        if refined.shards[split] or split == "train"
    }
    for split in SPLITS:  # of an earlier build that held something out
        if split not in shards and (out / split / "archive.json").exists():
            shutil.rmtree(out / split)
    told = manifest(
        recipe,
        missing,
        [(source, result) for (source, _), result in zip(reads, results, strict=True)],
        refined,
        {split: shards[split] for split in SPLITS if split in shards},
        version_number=taken.version if taken is not None else 1,
    )
    write_if_changed(out / MANIFEST, json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    write_papers(out, told, recipe)
    store.clean(stages.keys)
    return told


def _refuse_foreign_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"{out} is a file; name a folder for the corpus")
    ours = (out / WORK).is_dir() or (out / RECIPE).is_file()
    if out.is_dir() and any(out.iterdir()) and not ours:
        raise FileExistsError(f"{out} holds something that is no build; name an empty folder")


def _assemble_tasks(files: list[tuple[Path, str]], shard_size: int) -> list[Task]:
    keys = {str(path): key for path, key in files}
    tasks = []
    plan = assemble_stage.plan_shards([str(path) for path, _ in files], shard_size)
    for k, parts in enumerate(plan):
        tasks.append(
            Task(
                label=f"rejects, shard {k}",
                function=assemble_stage.assemble,
                version=assemble_stage.VERSION,
                settings={"ranges": [[part.start, part.stop] for part in parts]},
                inputs=tuple(f"{keys[part.file]}/{Path(part.file).name}" for part in parts),
                files=tuple(part.file for part in parts),
                size=sum(os.path.getsize(part.file) for part in parts),  # noqa: PTH202
            )
        )
    return tasks
