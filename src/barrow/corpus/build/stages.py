"""The stages of a build, in their order, and what flows between them.

    split        large raw files → parts of them that are read on their own
    read         raw files → documents with ids and provenance, without what was taken down
    index        evaluation sets → an index of their n-grams
    examine      documents, index → filters and decontamination: facts, rewritten texts
    deduplicate  facts → copies and near-duplicates that go, clusters of those that stay
    passages     texts → facts and texts without repeated lines and passages
    plan         facts, clusters → the split of each document, and how often it is taken
    scatter      documents, plan → lines in buckets, each with its place: the shuffle
    gather       buckets → shards of each split, with facts and statistics
    assemble     rejects of all stages → shards

Each is a file here: ``read.py``, …; deduplication and passages are several, listed in
``dedup/deduplicate.py`` and ``dedup/passages/stages.py``. `build` publishes what they write.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.corpus.build.assemble import assemble_tasks
from barrow.corpus.build.decontaminate import Indexed, index_task
from barrow.corpus.build.examine import Findings, examine_tasks
from barrow.corpus.build.gather import Gathered, gather_tasks
from barrow.corpus.build.language_budget import check_languages
from barrow.corpus.build.parts import Examined, Part, PartFiles, Rejecting, cut, known_parts
from barrow.corpus.build.plan import buckets_of, plan_task
from barrow.corpus.build.publish import Shard
from barrow.corpus.build.read import Read, read_tasks
from barrow.corpus.build.scatter import Scattered, scatter_tasks
from barrow.corpus.build.sources import Source
from barrow.corpus.build.split import split_files
from barrow.corpus.dedup.budget import check_budget
from barrow.corpus.dedup.deduplicate import deduplicate
from barrow.corpus.dedup.numbering import Removals
from barrow.corpus.dedup.passages.stages import Cut, cut_repeated
from barrow.corpus.recipe import Recipe
from barrow.engine import File, Stages


@dataclass(frozen=True)
class Built:
    """What the stages wrote, and the plan."""

    read: Sequence[tuple[Source, Read]]
    indexed: Indexed | None
    examined: Sequence[Findings]
    cuts: dict[str, Cut]
    plan: dict[str, Any]
    scattered: Sequence[Scattered]
    shards: dict[str, list[Gathered]]
    rejects: Sequence[Shard]


def run_stages(
    sources: Sequence[Source], recipe: Recipe, stages: Stages, *, takedown: File | None
) -> Built:
    """Perform every stage of a build."""
    spans = split_files(sources, stages)
    reading = [
        (source, task) for source in sources for task in read_tasks(source, recipe, takedown, spans)
    ]
    results = stages.run("Reading", [task for _, task in reading])
    read = [(source, result) for (source, _), result in zip(reading, results, strict=True)]
    parts = [part for source, r in read for part in _parts(source, r)]

    indexed = None
    if recipe.decontamination is not None:
        (indexed,) = stages.run("Indexing", [index_task(recipe.decontamination)])
    evaluation = None if indexed is None else indexed.ngrams
    examined = stages.run("Examining", examine_tasks(parts, recipe, evaluation))
    check_languages(recipe, examined)
    own = [
        Examined(part, PartFiles(part.file, found.facts, found.changed), found.load_domains())
        for part, found in zip(parts, examined, strict=True)
    ]

    removals = Removals()
    after: Sequence[Examined] = own
    cuts: dict[str, Cut] = {}
    if recipe.deduplication is not None and own:
        settings = recipe.deduplication
        known = [part for corpus in settings.against for part in known_parts(Path(corpus))]
        removals = deduplicate(own, known, settings, stages)
        check_budget(own, removals, settings, stages)
        for name, what in (("lines", settings.lines), ("passages", settings.passages)):
            if what is not None:
                cuts[name] = cut_repeated(after, known, removals, settings, what, stages)
                after = cuts[name].own

    (planned,) = stages.run("Planning", [plan_task(after, removals, recipe)])
    plan = json.loads(planned.plan.path.read_text())
    buckets = buckets_of(plan, recipe.shard_size)
    scattering = scatter_tasks(after, planned.plan, removals, buckets, recipe)
    scattered = stages.run("Sorting", scattering)
    gathering = gather_tasks(after, scattered, buckets, plan["bytes"])
    gathered = iter(stages.run("Writing", [t for tasks in gathering.values() for t in tasks]))

    rejecting: list[Rejecting] = [
        *results,
        *examined,
        *(result for made in cuts.values() for result in made.results),
        *scattered,
    ]
    return Built(
        read=read,
        indexed=indexed,
        examined=examined,
        cuts=cuts,
        plan=plan,
        scattered=scattered,
        shards={split: [next(gathered) for _ in tasks] for split, tasks in gathering.items()},
        rejects=stages.run("Writing rejects", assemble_tasks(rejecting, recipe.shard_size)),
    )


def _parts(source: Source, result: Read) -> list[Part]:
    frames = result.load_frames(result.documents)
    return cut(result.documents, frames, domain=source.folder)
