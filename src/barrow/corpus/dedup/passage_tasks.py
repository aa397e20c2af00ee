"""The tasks that cut repeated passages, one stage after the other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from barrow.corpus.dedup import passage_cut_stage, passage_stages
from barrow.corpus.dedup.buckets import load_slice, share_out
from barrow.corpus.dedup.settings import Deduplication, Passages
from barrow.corpus.dedup.tasks import Examined, Removals, Runner
from barrow.engine import Task

# Hashes that one task sorts: 40 bytes each.
_TASK_HASHES = 1 << 22


@dataclass(frozen=True)
class Cut:
    """The parts of a build after passages were cut, files of records, and what was counted."""

    own: list[Examined]
    rejects: list[tuple[Path, str]]
    counts: list[dict[str, dict[str, int]]]


def cut_repeated(
    own: list[Examined],
    known: list[Examined],
    removals: Removals,
    settings: Deduplication,
    passages: Passages,
    run: Runner,
) -> Cut:
    """Cut repeated passages from what was not removed; finished corpora stay as they are."""
    if not own:
        return Cut(own, [], [])
    parts = [*own, *known]
    offsets = list(accumulate((len(examined.part) for examined in parts), initial=0))
    seeding = [
        _part_task(
            examined,
            passage_stages.find_seeds,
            [*removals.files],
            removals.keys,
            offset=offset,
            num_removals=len(removals.files),
            min_words=passages.min_words,
        )
        for examined, offset in zip(parts, offsets, strict=False)
    ]
    seeds = _results(run("Passages", seeding))
    comparing = [
        _Spread(passage_stages.find_repeated, seeds, seeding).task(buckets=buckets)
        for buckets in share_out(seeds, _TASK_HASHES)
    ]
    repeated = _results(run("Passages", comparing))
    windowing = [
        _part_task(
            examined,
            passage_stages.find_windows,
            [seeds[k], *repeated],
            (seeding[k].key, *(task.key for task in comparing)),
            part=k,
            size=len(examined.part),
            num_repeated=len(repeated),
            min_words=passages.min_words,
            order=_order([examined], int(k < len(own)), settings),
        )
        for k, examined in enumerate(parts)
    ]
    windows = _results(run("Passages", windowing))
    facts = [examined.facts for examined in parts]
    spread = _Spread(passage_stages.find_owners, [*facts, *windows], windowing)
    owning = [
        spread.task(buckets=buckets, **_order(parts, len(own), settings))
        for buckets in share_out(windows, _TASK_HASHES)
    ]
    owners = _results(run("Passages", owning))
    concerned = [k for k in range(len(own)) if _has_cuts(k, windows[k], owners)]
    cutting = [
        Task(
            label=f"{own[k].part.file.name} from {own[k].part.start}",
            function=passage_cut_stage.cut_passages,
            version=passage_cut_stage.VERSION,
            settings={
                "start": own[k].part.start,
                "part": k,
                "min_words": passages.min_words,
                "min_rest": passages.min_rest,
                "near": settings.near,
            },
            inputs=(
                own[k].part.key,
                own[k].key,
                windowing[k].key,
                *(task.key for task in owning),
            ),
            files=tuple(
                map(str, (own[k].part.file, own[k].facts, own[k].changed, windows[k], *owners))
            ),
            size=own[k].part.size,
        )
        for k in concerned
    ]
    results = run("Cutting", cutting)
    after = list(own)
    for k, task, path in zip(concerned, cutting, results, strict=True):
        after[k] = replace(
            own[k],
            key=task.key,
            facts=path / passage_cut_stage.FACTS,
            changed=path / passage_cut_stage.CHANGED,
        )
    return Cut(
        after,
        [
            (path / passage_cut_stage.REJECTS, task.key)
            for path, task in zip(results, cutting, strict=True)
        ],
        [json.loads((path / passage_cut_stage.COUNTS).read_text()) for path in results],
    )


def _order(parts: Sequence[Examined], num_own: int, settings: Deduplication) -> dict[str, Any]:
    """What the order of preference depends on."""
    return {
        "sizes": [len(examined.part) for examined in parts],
        "num_own": num_own,
        "keep": settings.keep,
        "prefer": list(settings.prefer),
        "domains": [examined.domains for examined in parts],
    }


def _part_task(
    examined: Examined, function: Any, files: Sequence[Path], keys: Sequence[str], **settings: Any
) -> Task:
    """A task that reads the texts of a part; where they were changed comes last."""
    part = examined.part
    changed = [] if examined.changed is None else [examined.changed]
    return Task(
        label=f"{part.file.name} from {part.start}",
        function=function,
        version=passage_stages.VERSION,
        settings={"start": part.start, **settings},
        inputs=(part.key, examined.key, *keys),
        files=tuple(map(str, (part.file, examined.facts, *files, *changed))),
        size=part.size,
    )


@dataclass(frozen=True)
class _Spread:
    """Tasks that each look at some buckets of all parts."""

    function: Any
    files: Sequence[Path]
    of: Sequence[Task]

    def task(self, **settings: Any) -> Task:
        return Task(
            label="passages",
            function=self.function,
            version=passage_stages.VERSION,
            settings=settings,
            inputs=tuple(task.key for task in self.of),
            files=tuple(map(str, self.files)),
        )


def _results(paths: Sequence[Path]) -> list[Path]:
    return [path / passage_stages.RESULT for path in paths]


def _has_cuts(k: int, windows: Path, owners: Sequence[Path]) -> bool:
    lost = any(
        start < stop for start, stop in (load_slice(path, "bounds", k, k + 2) for path in owners)
    )
    return lost or load_slice(windows, "others").shape[1] > 0
