"""Repeated passages or lines, stage by stage: seeds, which are repeated, windows, owners, cuts.

Seeds, windows and cuts are computed by part; repetition and owners by buckets of the hashes of all
parts. No task holds more than a part or a fixed number of hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from barrow.corpus.build.parts import Examined
from barrow.corpus.dedup.numbering import Order, Removals
from barrow.corpus.dedup.passages import cut_stage as cutting
from barrow.corpus.dedup.passages import owners_stage as owning
from barrow.corpus.dedup.passages import repeated_stage as comparing
from barrow.corpus.dedup.passages import seeds_stage as seeding
from barrow.corpus.dedup.passages import windows_stage as windowing
from barrow.corpus.dedup.passages.buckets import load_part, load_slice, share_out
from barrow.corpus.dedup.settings import Deduplication, Lines, Passages, Unit
from barrow.engine import File, Stages

# Hashes that one task sorts: 40 bytes each.
_TASK_HASHES = 1 << 22


@dataclass(frozen=True)
class Cut:
    """The parts of a build after passages were cut, and what cutting wrote."""

    own: Sequence[Examined]
    results: Sequence[cutting.Cut] = ()


def cut_repeated(
    own: Sequence[Examined],
    known: Sequence[Examined],
    removals: Removals,
    settings: Deduplication,
    passages: Passages | Lines,
    stages: Stages,
) -> Cut:
    """Cut repeated passages from what was not removed; finished corpora stay as they are."""
    if not own:
        return Cut(own)
    parts = [*own, *known]
    unit: Unit = "word"
    min_bytes = 1
    if isinstance(passages, Lines):
        unit, min_words, min_bytes = passages.unit, passages.span, passages.min_bytes
    else:
        min_words = passages.min_words
    title = "Passages" if unit == "word" else f"{unit.capitalize()}s"
    offsets = accumulate(map(len, parts), initial=0)
    seeded = stages.run(
        title,
        [
            seeding.SEEDS.task(
                examined.part.label,
                seeding.Settings(examined.part.start, offset, min_words, unit),
                seeding.Inputs(examined.files, removals),
                size=examined.part.size,
            )
            for examined, offset in zip(parts, offsets, strict=False)
        ],
    )
    seeds = tuple(result.seeds for result in seeded)
    compared = stages.run(
        title,
        [
            comparing.REPEATED.task("passages", comparing.Settings(buckets), seeds)
            for buckets in share_out([result.bounds for result in seeded], _TASK_HASHES)
        ],
    )
    repeated = tuple(result.found for result in compared)
    windowed = stages.run(
        title,
        [
            windowing.WINDOWS.task(
                examined.part.label,
                windowing.Settings(
                    part=k,
                    start=examined.part.start,
                    min_words=min_words,
                    order=Order.of([examined], int(k < len(own)), settings),
                    unit=unit,
                    min_bytes=min_bytes,
                ),
                windowing.Inputs(examined.files, seeds[k], repeated),
                size=examined.part.size,
            )
            for k, examined in enumerate(parts)
        ],
    )
    windows = tuple(result.windows for result in windowed)
    order = Order.of(parts, len(own), settings)
    facts = tuple(examined.files.facts for examined in parts)
    owned = stages.run(
        title,
        [
            owning.OWNERS.task(
                "passages",
                owning.Settings(buckets, order, passages.keep),
                owning.Inputs(facts, windows),
            )
            for buckets in share_out([result.bounds for result in windowed], _TASK_HASHES)
        ],
    )
    owners = tuple(result.lost for result in owned)
    concerned = [k for k in range(len(own)) if _has_cuts(k, windowed[k].bounds, owners)]
    results = stages.run(
        "Cutting",
        [
            cutting.CUT.task(
                own[k].part.label,
                cutting.Settings(
                    part=k,
                    start=own[k].part.start,
                    min_words=min_words,
                    min_rest=passages.min_rest,
                    unit=unit,
                    keep=passages.keep,
                ),
                cutting.Inputs(own[k].files, windows[k], owners),
                size=own[k].part.size,
            )
            for k in concerned
        ],
    )
    after = list(own)
    for k, result in zip(concerned, results, strict=True):
        files = replace(own[k].files, facts=result.facts, changed=result.changed)
        after[k] = replace(own[k], files=files)
    return Cut(after, results)


def _has_cuts(k: int, bounds: File, owners: Sequence[File]) -> bool:
    lost = any(len(load_part(file, "lost", k)) for file in owners)
    return lost or bool(load_slice(bounds, "num_others")[0])
