"""Moves documents that stay to the bucket they are shuffled in.

A document is moved as its JSON line, with the stages' decisions added at the end: every line of the
reading stage ends with ``"decisions":{"read":"keep"}}}``.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from barrow.archive import Document
from barrow.archive.document import name_of
from barrow.archive.shard import shard_lines
from barrow.corpus.build.facts import Facts, load_facts
from barrow.corpus.build.parts import Examined, PartFiles, Rejecting, quick_writer
from barrow.corpus.build.plan import ORDER, Buckets, clusters_of, copies_of, labels_of, split_of
from barrow.corpus.dedup.numbering import Arrays, Removals, removal_cause, save_arrays
from barrow.corpus.filters.language import UNDETERMINED
from barrow.corpus.mixture import SPLITS, places
from barrow.corpus.readers.reader import rejected
from barrow.corpus.recipe import Recipe
from barrow.engine import File, Output, Stage, Task
from barrow.files import write_part

_FRAME = 1 << 18
_END = b"}}}"
_ASSUMED = re.compile(rb'"language":"[^"]*+","language_from":"recipe","decisions":\{')


@dataclass(frozen=True)
class _Removal:
    """Why documents were removed: a reason, and the document each is a copy of."""

    reason: str
    of: dict[int, tuple[str, float]]


@dataclass(frozen=True)
class Settings:
    """A part: the first of its documents in the file, and its number among all documents.

    `stages` are those that documents have passed; `buckets` is their number by split.
    """

    start: int
    offset: int
    seed: int
    stages: tuple[str, ...]
    buckets: tuple[int, ...]


@dataclass(frozen=True)
class Inputs:
    """The texts of a part, the plan, and what deduplication removed."""

    part: PartFiles
    plan: File
    removals: Removals


class Scattered(Rejecting):
    """Lines by bucket, the key each is sorted by, clusters by document, and rejects."""

    lines = Output("lines.jsonl.zst", temporary=True)
    keys = Output("keys.safetensors", temporary=True)


def scatter_tasks(
    own: Sequence[Examined], plan: File, removals: Removals, buckets: Buckets, recipe: Recipe
) -> list[Task[Scattered]]:
    """A task for each part."""
    passed = ["filter"]
    passed += ["decontaminate"] if recipe.decontamination is not None else []
    passed += ["deduplicate"] if recipe.deduplication is not None else []
    offsets = itertools.accumulate(map(len, own), initial=0)
    numbers = tuple(shards * each for shards, each in buckets.values())
    return [
        SCATTER.task(
            examined.part.label,
            Settings(examined.part.start, offset, recipe.seed, tuple(passed), numbers),
            Inputs(examined.files, plan, removals),
            size=examined.part.size,
        )
        for examined, offset in zip(own, offsets, strict=False)
    ]


def scatter(settings: Settings, inputs: Inputs, out: Scattered) -> None:
    """Write documents of one part, grouped by the bucket they go to, and rejects for the others."""
    facts = load_facts(inputs.part.facts)
    plan = json.loads(inputs.plan.path.read_text())
    offset, seed = settings.offset, settings.seed
    removals = [_removal(reason, arrays, offset, len(facts)) for reason, arrays in inputs.removals]
    cluster = clusters_of(facts, offset, inputs.removals.clusters())
    stays = facts.kept.copy()
    for removal in removals:
        stays[list(removal.of)] = False
    split = split_of(labels_of(facts, cluster), seed, plan["splits"])
    copies = np.where(split == 0, copies_of(facts, seed, plan["domains"]), 1)
    copies[~stays] = 0
    bucket, key, row = _buckets(facts, split, copies, seed, settings.buckets)

    endings = [_ending(settings.stages, name) for name in SPLITS]
    lines: dict[int, bytes] = {}
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    with quick_writer(out.rejects) as rejects:
        for number, line in enumerate(_lines(inputs.part, facts, settings.start)):
            if copies[number]:
                assert line.endswith(_END), "the reading stage writes decisions last"
                line = line[: -len(_END)] + endings[split[number]]
                if language := facts.languages[facts.language[number]]:
                    line = _in_language(line, language)
                lines[number] = line
            elif facts.kept[number]:
                reason, cause = _why(number, removals)
                name = facts.domains[facts.domain[number]]
                tally[name][reason] += 1
                tally[name][f"bytes.{reason}"] += int(facts.size[number])
                rejects.add(_reject(line, reason, cause))
    order = np.lexsort((key, bucket))
    bounds = np.searchsorted(bucket[order], np.arange(sum(settings.buckets) + 1))
    with quick_writer(out.lines, frame_size=_FRAME) as writer:
        for start, stop in itertools.pairwise(bounds):
            for at in order[start:stop]:
                writer.add_line(lines[int(row[at])])
            writer.end_frame()
    save_arrays(
        out.keys,
        bounds=bounds.astype(np.int64),
        keys=key[order],
        rows=row[order].astype(np.int64),
        clusters=cluster,
    )
    counts = {k: dict(sorted(v.items())) for k, v in sorted(tally.items())}
    write_part(out.counts.path, json.dumps(counts).encode())
    out.save_frames()


SCATTER = Stage("corpus.scatter", 4, scatter, Scattered)


def _removal(reason: str, arrays: Arrays, offset: int, size: int) -> _Removal:
    mine = (arrays["removed"] >= offset) & (arrays["removed"] < offset + size)
    names = arrays["of_identity"][mine]
    return _Removal(
        reason,
        {
            int(number) - offset: (name_of(identity), float(value))
            for number, identity, value in zip(
                arrays["removed"][mine], names, arrays["similarity"][mine], strict=True
            )
        },
    )


def _why(number: int, removals: list[_Removal]) -> tuple[str, str]:
    for removal in removals:
        if number in removal.of:
            name, value = removal.of[number]
            return removal.reason, removal_cause(removal.reason, value, name)
    return "not-drawn", "the mixture takes less than all of its domain"


def _buckets(
    facts: Facts,
    split: npt.NDArray[np.int8],
    copies: npt.NDArray[np.int64],
    seed: int,
    num_buckets: tuple[int, ...],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Bucket, place in the order, and row of every copy that is written."""
    first = np.cumsum([0, *num_buckets])
    row = np.repeat(np.arange(len(facts)), copies)
    copy = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
    key = np.zeros(len(row), np.uint64)
    for k in range(int(copy.max(initial=-1)) + 1):
        mine = copy == k
        # Both halves, so that identical texts are shuffled too.
        identity = facts.identity[row[mine]]
        mixed = identity[:, 0] ^ (identity[:, 1] * np.uint64(0xD6E8FEB86659FD93))
        key[mine] = places(mixed, seed, ORDER + k)
    counts = np.array(num_buckets, np.uint64)[split[row]]
    within = ((key >> np.uint64(32)) * counts) >> np.uint64(32)
    return first[split[row]] + within.astype(np.int64), key, row


def _lines(part: PartFiles, facts: Facts, start: int) -> Iterator[bytes]:
    """The line of every document, as read or as rewritten."""
    assert part.changed is not None, "a part of this build"
    new = shard_lines(part.changed)
    rewritten = facts.changed & facts.kept
    for number, line in enumerate(shard_lines(part.documents, start, start + len(facts))):
        yield next(new) if rewritten[number] else line


def _in_language(line: bytes, language: str) -> bytes:
    """The line with the language identified, where the reading stage wrote the recipe's."""
    assumed = _ASSUMED.search(line, line.rindex(b'"decisions":{') - 100)
    if assumed is None or language == UNDETERMINED:
        return line
    found = b'"language":"%s","language_from":"text","decisions":{' % language.encode()
    return line[: assumed.start()] + found + line[assumed.end() :]


def _ending(stages: tuple[str, ...], split: str) -> bytes:
    decisions = "".join(f',"{stage}":"keep"' for stage in stages)
    return f'{decisions},"split":"{split}"'.encode() + _END


def _reject(line: bytes, reason: str, cause: str) -> Document:
    document = msgspec.json.decode(line, type=Document)
    stage = "mix" if reason == "not-drawn" else "deduplicate"
    return rejected(document.text, document.meta, reason=reason, cause=cause, stage=stage)
