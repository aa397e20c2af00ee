"""The tasks of deduplication, one stage after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow.corpus.dedup import stages
from barrow.corpus.dedup.minhash import NUM_BANDS
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.parts import Part
from barrow.engine import Task

# Documents whose hashes one task sorts: 40 bytes each.
_PARTITION_DOCUMENTS = 1 << 22

Runner = Callable[[str, Sequence[Task]], list[Path]]


@dataclass(frozen=True)
class Examined:
    """A part, and where its facts and its changed documents are; `key` names the facts."""

    part: Part
    key: str
    facts: Path
    changed: Path | None
    domains: list[str]


@dataclass(frozen=True)
class Removals:
    """Files of removed documents with their reasons, and the clusters of those that stay."""

    files: list[Path]
    reasons: list[str]
    clusters: Path | None
    keys: tuple[str, ...]


def deduplicate(
    own: list[Examined], known: list[Examined], settings: Deduplication, run: Runner
) -> Removals:
    """Find duplicates among the parts of a build, and of finished corpora."""
    parts = [*own, *known]
    common: dict[str, Any] = {
        "sizes": [len(examined.part) for examined in parts],
        "num_own": len(own),
        "keep": settings.keep,
        "prefer": list(settings.prefer),
        "domains": [examined.domains for examined in parts],
    }
    facts = [str(examined.facts) for examined in parts]
    inputs = tuple(examined.key for examined in parts)
    of = 1 + sum(common["sizes"]) // _PARTITION_DOCUMENTS

    def task(
        label: str,
        function: Callable[[Path, list[str], Mapping[str, Any]], None],
        files: Sequence[Path] = (),
        keys: Sequence[str] = (),
        **more: Any,
    ) -> Task:
        return Task(
            label=label,
            function=function,
            version=stages.VERSION,
            settings={**common, **more},
            inputs=(*inputs, *keys),
            files=(*facts, *map(str, files)),
        )

    copies = [task("copies", stages.find_copies, partition=k, of=of) for k in range(of)]
    exact = [path / stages.RESULT for path in run("Copies", copies)]
    exact_keys = tuple(task.key for task in copies)
    if not settings.near:
        return Removals(exact, ["duplicate"] * len(exact), None, exact_keys)

    bands = [
        task(
            f"band {band}", stages.find_candidates, exact, exact_keys, band=band, partition=k, of=of
        )
        for band in range(NUM_BANDS)
        for k in range(of)
    ]
    pairs = [path / stages.RESULT for path in run("Candidates", bands)]
    gathering = task("candidates", stages.gather_candidates, pairs, [task.key for task in bands])
    (gathered,) = run("Candidates", [gathering])
    plan = json.loads((gathered / stages.PLAN).read_text())
    candidates = gathered / stages.RESULT

    offset = 0
    shingling = []
    for k, examined in enumerate(parts):
        if k in plan["parts"]:
            shingling.append(_shingle_task(examined, offset, candidates, gathering.key))
        offset += len(examined.part)
    shingles = [path / stages.RESULT for path in run("Shingles", shingling)]
    verifying = [
        Task(
            label="pairs",
            function=stages.verify,
            version=stages.VERSION,
            settings={"chunk": [start, stop], "similarity": settings.similarity},
            inputs=(gathering.key, *(task.key for task in shingling)),
            files=(str(candidates), *map(str, shingles)),
            size=stop - start,
        )
        for start, stop in zip(plan["chunks"][:-1], plan["chunks"][1:], strict=True)
    ]
    verified = [path / stages.RESULT for path in run("Verifying", verifying)]
    choosing = task("clusters", stages.choose_kept, verified, [task.key for task in verifying])
    (chosen,) = run("Clusters", [choosing])
    near = chosen / stages.RESULT
    return Removals(
        [*exact, near],
        ["duplicate"] * len(exact) + ["near-duplicate"],
        near,
        (*exact_keys, choosing.key),
    )


def _shingle_task(examined: Examined, offset: int, candidates: Path, key: str) -> Task:
    part = examined.part
    files = [str(part.file), str(candidates)]
    if examined.changed is not None:
        files += [str(examined.facts), str(examined.changed)]
    return Task(
        label="shingles",
        function=stages.shingle,
        version=stages.VERSION,
        settings={"offset": offset, "start": part.start, "size": len(part)},
        inputs=(part.key, examined.key, key),
        files=tuple(files),
        size=part.size,
    )
