"""From documents that were read to shards: examine, deduplicate, cut, plan, scatter, gather."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import ceil
from pathlib import Path
from typing import Any

from barrow import config
from barrow.corpus import examine_stage, gather_stage, index_stage, plan_stage, scatter_stage
from barrow.corpus.dedup.passage_tasks import Cut, cut_repeated
from barrow.corpus.dedup.tasks import Examined, Removals, deduplicate
from barrow.corpus.facts import load_names
from barrow.corpus.mix import SPLITS
from barrow.corpus.parts import Part, known_parts
from barrow.corpus.progress import Progress
from barrow.corpus.recipe import Recipe
from barrow.corpus.removal_budget import check_budget
from barrow.engine import Store, Task, Team, run

# What is shuffled in memory at a time.
_BUCKET_BYTES = 1 << 26
_LINE_BYTES = 450  # of a document's line that are not text, about


@dataclass
class Stages:
    """Runs stages one after the other, and remembers what belongs to the build."""

    store: Store
    team: Team
    progress: Progress
    keys: set[str] = field(default_factory=set)

    def run(self, label: str, tasks: Sequence[Task]) -> list[Path]:
        """Perform tasks; where their results are."""
        self.progress.on_plan(label, sum(task.size for task in tasks))
        run(
            tasks,
            self.store,
            self.team,
            on_done=lambda task, _: self.progress.on_bytes(task.size),
        )
        self.keys |= {task.key for task in tasks}
        return [self.store.path(task.key) for task in tasks]


@dataclass(frozen=True)
class Refined:
    """Results of the last stage by split, files of rejects, and what each stage counted."""

    shards: dict[str, list[Path]]
    rejects: list[tuple[Path, str]]
    examined: list[dict[str, Any]]
    cut: list[dict[str, Any]]
    scattered: list[dict[str, Any]]
    plan: dict[str, Any]
    index: Path | None


def refine(parts: list[Part], recipe: Recipe, stages: Stages) -> Refined:
    """Perform every stage after reading, on the documents of some parts."""
    index = _index(recipe, stages)
    examining = _examine_tasks(parts, recipe, index)
    results = stages.run("Examining", examining)
    own = [
        Examined(
            part,
            task.key,
            path / examine_stage.FACTS,
            path / examine_stage.CHANGED,
            load_names(path / examine_stage.FACTS)[0],
        )
        for part, task, path in zip(parts, examining, results, strict=True)
    ]
    removals = Removals([], [], None, ())
    cut = Cut(own, [], [])
    if recipe.deduplication is not None and own:
        known = [
            Examined(part, part.key, part.facts, None, load_names(part.facts)[0])
            for corpus in recipe.deduplication.against
            for part in known_parts(Path(corpus))
            if part.facts is not None
        ]
        removals = deduplicate(own, known, recipe.deduplication, stages.run)
        check_budget(own, removals, recipe.deduplication)
        passages = recipe.deduplication.passages
        if passages is not None:
            cut = cut_repeated(own, known, removals, recipe.deduplication, passages, stages.run)
    own = cut.own
    planning = _plan_task(own, removals, recipe)
    (planned,) = stages.run("Planning", [planning])
    plan = json.loads((planned / plan_stage.PLAN).read_text())
    buckets = _buckets(plan, recipe.shard_size)
    scattering = _scatter_tasks(own, removals, planning, planned, buckets, recipe)
    scattered = stages.run("Sorting", scattering)
    gathering = _gather_tasks(own, scattering, scattered, buckets)
    gathered = stages.run("Writing", [task for tasks in gathering.values() for task in tasks])
    paths = iter(gathered)
    return Refined(
        {split: [next(paths) for _ in tasks] for split, tasks in gathering.items()},
        [
            *(
                (path / examine_stage.REJECTS, task.key)
                for path, task in zip(results, examining, strict=True)
            ),
            *cut.rejects,
            *(
                (path / scatter_stage.REJECTS, task.key)
                for path, task in zip(scattered, scattering, strict=True)
            ),
        ],
        [json.loads((path / examine_stage.COUNTS).read_text()) for path in results],
        cut.counts,
        [json.loads((path / scatter_stage.COUNTS).read_text()) for path in scattered],
        plan,
        None if index is None else index[0],
    )


def _index(recipe: Recipe, stages: Stages) -> tuple[Path, str] | None:
    """Where the index of evaluation sets is, and the key that names it."""
    if recipe.decontamination is None:
        return None
    task = index_stage.index_task(recipe.decontamination.sets, recipe.decontamination.ngram)
    (path,) = stages.run("Indexing", [task])
    return path / index_stage.INDEX, task.key


def _examine_tasks(parts: list[Part], recipe: Recipe, index: tuple[Path, str] | None) -> list[Task]:
    decontamination = recipe.decontamination
    chosen = {
        folder: examine_stage.Chosen({"": domain.filters, **domain.filters_of}).resolved()
        for folder, domain in recipe.domains.items()
    }
    filters = {folder: config.identity(some)["steps"] for folder, some in chosen.items()}
    trust = {folder: list(config.outside(some)) for folder, some in chosen.items()}
    return [
        Task(
            label=f"{part.file.name} from {part.start}",
            function=examine_stage.examine,
            version=examine_stage.VERSION,
            settings={
                "start": part.start,
                "stop": part.stop,
                "filters": filters[part.domain],
                **({"trust": trust[part.domain]} if trust[part.domain] else {}),
                "min_ngrams": decontamination.min_ngrams if decontamination is not None else 0,
            },
            inputs=(part.key, *([] if index is None else [index[1]])),
            files=(str(part.file), *([] if index is None else [str(index[0])])),
            size=part.size,
        )
        for part in parts
    ]


def _plan_task(own: list[Examined], removals: Removals, recipe: Recipe) -> Task:
    domains = recipe.domains.values()
    return Task(
        label="plan",
        function=plan_stage.plan,
        version=plan_stage.VERSION,
        settings={
            "sizes": [len(examined.part) for examined in own],
            "num_removals": len(removals.files),
            "clusters": removals.clusters is not None,
            "seed": recipe.seed,
            "splits": config.to_dict(recipe.splits),
            "mixture": config.to_dict(recipe.mixture),
            "epochs": {domain.name: domain.epochs for domain in domains},
            "weights": {domain.name: domain.weight for domain in domains},
        },
        inputs=(*(examined.key for examined in own), *removals.keys),
        files=tuple(map(str, (*(examined.facts for examined in own), *removals.files))),
    )


def _buckets(plan: dict[str, Any], shard_size: int) -> dict[str, tuple[int, int]]:
    """Of each split, the number of shards, and of buckets in each."""
    found = {}
    for split in SPLITS:
        size = plan["bytes"][split] + _LINE_BYTES * plan["documents"][split]
        shards = ceil(size / shard_size)
        found[split] = (shards, ceil(size / shards / _BUCKET_BYTES) if shards else 0)
    return found


def _scatter_tasks(
    own: list[Examined],
    removals: Removals,
    planning: Task,
    planned: Path,
    buckets: dict[str, tuple[int, int]],
    recipe: Recipe,
) -> list[Task]:
    passed = ["filter"]
    passed += ["decontaminate"] if recipe.decontamination is not None else []
    passed += ["deduplicate"] if recipe.deduplication is not None else []
    offsets = accumulate((len(examined.part) for examined in own), initial=0)
    return [
        Task(
            label=f"{examined.part.file.name} from {examined.part.start}",
            function=scatter_stage.scatter,
            version=scatter_stage.VERSION,
            settings={
                "start": examined.part.start,
                "offset": offset,
                "seed": recipe.seed,
                "reasons": removals.reasons,
                "clusters": removals.clusters is not None,
                "stages": passed,
                "buckets": [shards * each for shards, each in buckets.values()],
            },
            inputs=(examined.part.key, examined.key, planning.key, *removals.keys),
            files=tuple(
                map(
                    str,
                    (
                        examined.part.file,
                        examined.changed,
                        examined.facts,
                        planned / plan_stage.PLAN,
                        *removals.files,
                    ),
                )
            ),
            size=examined.part.size,
        )
        for examined, offset in zip(own, offsets, strict=False)
    ]


def _gather_tasks(
    own: list[Examined],
    scattering: list[Task],
    scattered: list[Path],
    buckets: dict[str, tuple[int, int]],
) -> dict[str, list[Task]]:
    files = [
        str(path)
        for examined, result in zip(own, scattered, strict=True)
        for path in (result / scatter_stage.LINES, result / scatter_stage.KEYS, examined.facts)
    ]
    inputs = tuple(task.key for task in scattering)
    size = sum(examined.part.size for examined in own)
    num_shards = sum(shards for shards, _ in buckets.values())
    first = 0
    tasks: dict[str, list[Task]] = {}
    for split, (shards, each) in buckets.items():
        tasks[split] = [
            Task(
                label=f"{split}, shard {k}",
                function=gather_stage.gather,
                version=gather_stage.VERSION,
                settings={"buckets": list(range(first + k * each, first + (k + 1) * each))},
                inputs=inputs,
                files=tuple(files),
                size=size // num_shards,
            )
            for k in range(shards)
        ]
        first += shards * each
    return tasks
