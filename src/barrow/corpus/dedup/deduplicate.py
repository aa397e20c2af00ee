"""Deduplication, stage by stage: URLs, copies, candidates by band, shingles, verification, choice.

Stages pass on arrays of document numbers; only the texts of candidates are read again. All stages
but joining and choosing work on a partition, so their memory does not grow with the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from barrow.corpus.build.parts import Examined
from barrow.corpus.dedup import (
    bands_stage,
    choose_stage,
    copies_stage,
    pairs_stage,
    shingles_stage,
    verify_stage,
)
from barrow.corpus.dedup.minhash import NUM_BANDS
from barrow.corpus.dedup.numbering import Order, Removals
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.dedup.urls import pages_stage, same_stage
from barrow.engine import File, Stages

# Documents whose hashes one task sorts: 40 bytes each.
_PARTITION_DOCUMENTS = 1 << 22


def deduplicate(
    own: Sequence[Examined], known: Sequence[Examined], settings: Deduplication, stages: Stages
) -> Removals:
    """Find duplicates among the parts of a build, and of finished corpora."""
    parts = [*own, *known]
    order = Order.of(parts, len(own), settings)
    facts = tuple(examined.files.facts for examined in parts)
    of = 1 + sum(order.sizes) // _PARTITION_DOCUMENTS

    same_url: tuple[File, ...] = ()
    if settings.url is not None:
        paged = stages.run(
            "URLs",
            [
                pages_stage.PAGES.task(
                    part.label,
                    pages_stage.Settings(part.start, part.stop),
                    part.file,
                    size=part.size,
                )
                for part in (examined.part for examined in parts)
            ],
        )
        pages = same_stage.Inputs(facts, tuple(result.pages for result in paged))
        same = stages.run(
            "URLs",
            [
                same_stage.SAME.task("URLs", same_stage.Settings(order, k, of, settings.url), pages)
                for k in range(of)
            ],
        )
        same_url = tuple(result.removed for result in same)
    before = copies_stage.Inputs(facts, Removals(same_url=same_url))
    copies = stages.run(
        "Copies",
        [
            copies_stage.COPIES.task("copies", copies_stage.Settings(order, k, of), before)
            for k in range(of)
        ],
    )
    exact = Removals(tuple(result.removed for result in copies), same_url=same_url)
    if not settings.near:
        return exact

    bands = stages.run(
        "Candidates",
        [
            bands_stage.BANDS.task(
                f"band {band}",
                bands_stage.Settings(order, band, k, of),
                bands_stage.Inputs(facts, exact),
            )
            for band in range(NUM_BANDS)
            for k in range(of)
        ],
    )
    joining = pairs_stage.PAIRS.task(
        "candidates",
        order,
        pairs_stage.Inputs(facts, tuple(result.pairs for result in bands)),
    )
    (candidates,) = stages.run("Candidates", [joining])
    plan = json.loads(candidates.plan.path.read_text())
    offsets = list(accumulate(order.sizes, initial=0))
    shingles = stages.run(
        "Shingles",
        [
            shingles_stage.SHINGLES.task(
                "shingles",
                shingles_stage.Settings(parts[k].part.start, offsets[k], len(parts[k])),
                shingles_stage.Inputs(parts[k].files, candidates.pairs),
                size=parts[k].part.size,
            )
            for k in plan["parts"]
        ],
    )
    hashes = tuple(result.hashes for result in shingles)
    verified = stages.run(
        "Verifying",
        [
            verify_stage.VERIFY.task(
                "pairs",
                verify_stage.Settings(start, stop, settings.similarity),
                verify_stage.Inputs(candidates.pairs, hashes),
            )
            for start, stop in pairwise(plan["chunks"])
        ],
    )
    choosing = choose_stage.CHOOSE.task(
        "clusters",
        order,
        choose_stage.Inputs(facts, tuple(result.pairs for result in verified)),
    )
    (chosen,) = stages.run("Clusters", [choosing])
    return replace(exact, near_duplicates=chosen.removed)
