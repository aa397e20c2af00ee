"""The last stage: buckets of documents to shards, each bucket shuffled as a whole."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec
import numpy as np

from barrow.archive import Writer
from barrow.archive.shard import shard_lines
from barrow.corpus.build.facts import Facts, load_columns, load_facts, save_facts
from barrow.corpus.build.parts import Examined
from barrow.corpus.build.plan import Buckets
from barrow.corpus.build.publish import FACTS, Shard
from barrow.corpus.build.scatter import Scattered
from barrow.corpus.dedup.numbering import load_arrays
from barrow.engine import File, Output, Stage, Task
from barrow.files import write_part

UNKNOWN = "unknown"


# A text has no bare quotation mark in it, so this is where it ends.
_TEXT_END = b'","meta":'


class CountedMeta(msgspec.Struct):
    """The keys of a document's meta by which the composition of a corpus is counted."""

    pile_set_name: str = ""
    licence: str | None = None
    language: str | None = None


@dataclass(frozen=True)
class Settings:
    """The buckets that make one shard."""

    buckets: tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """Lines of a part by bucket, their keys, and what is known of its documents."""

    lines: File
    keys: File
    facts: File


class Gathered(Shard):
    """A shard, its facts and its composition."""

    facts = Output(FACTS)
    statistics = Output("statistics.json")


def gather_tasks(
    own: Sequence[Examined],
    scattered: Sequence[Scattered],
    buckets: Buckets,
    sizes: Mapping[str, float],
) -> dict[str, list[Task[Gathered]]]:
    """A task for each shard, by split; `sizes` are the bytes of splits."""
    parts = tuple(
        Part(result.lines, result.keys, examined.files.facts)
        for examined, result in zip(own, scattered, strict=True)
    )
    numbers = iter(range(sum(shards * each for shards, each in buckets.values())))
    return {
        split: [
            GATHER.task(
                f"{split}, shard {k}",
                Settings(tuple(islice(numbers, each))),
                parts,
                size=int(sizes[split]) // shards,
            )
            for k in range(shards)
        ]
        for split, (shards, each) in buckets.items()
    }


def gather(settings: Settings, parts: tuple[Part, ...], out: Gathered) -> None:
    """Write one shard from its buckets."""
    decoder = msgspec.json.Decoder(CountedMeta)
    places: list[tuple[int, int]] = []
    metas: list[CountedMeta] = []
    with Writer(out.shard, threads=out.threads) as writer:
        for bucket in settings.buckets:
            lines, keys, sizes, rows = _read_bucket(bucket, parts)
            # Equal keys mean that a document was read twice: the line decides the order.
            for at in sorted(range(len(lines)), key=lambda k: (keys[k], lines[k])):
                writer.add_line(lines[at])
                places.append(rows[at])
                start = lines[at].index(_TEXT_END, sizes[at]) + len(_TEXT_END)
                metas.append(decoder.decode(lines[at][start:-1]))
    facts = _facts_of(places, parts)
    save_facts(facts, out.facts)
    write_part(out.entry.path, msgspec.json.encode(writer.entries[0]))
    counted = count_documents(metas, facts.size.tolist(), found_languages(facts))
    write_part(out.statistics.path, json.dumps(counted, sort_keys=True).encode())


GATHER = Stage("corpus.gather", 2, gather, Gathered)


def _read_bucket(
    bucket: int, parts: Sequence[Part]
) -> tuple[list[bytes], list[int], list[int], list[tuple[int, int]]]:
    """Lines of all parts, their keys, bytes of their texts, and the part and row each is from."""
    lines: list[bytes] = []
    keys: list[int] = []
    sizes: list[int] = []
    rows: list[tuple[int, int]] = []
    for number, part in enumerate(parts):
        arrays = load_arrays(part.keys)
        start, stop = arrays["bounds"][bucket : bucket + 2].tolist()
        if start < stop:
            lines += shard_lines(part.lines, start, stop)
            keys += arrays["keys"][start:stop].tolist()
            mine = arrays["rows"][start:stop]
            sizes += load_columns(part.facts, ("size",))["size"][mine].tolist()
            rows += [(number, row) for row in mine.tolist()]
    return lines, keys, sizes, rows


def _facts_of(places: list[tuple[int, int]], parts: Sequence[Part]) -> Facts:
    """The facts of the documents of a shard, in their order, one part at a time."""
    facts = Facts.blank(len(places))
    part = np.array([place[0] for place in places], np.int64)
    row = np.array([place[1] for place in places], np.int64)
    for k in np.unique(part).tolist():
        theirs = load_facts(parts[k].facts)
        here = np.flatnonzero(part == k)
        facts.cluster[here] = load_arrays(parts[k].keys)["clusters"][row[here]]
        for name in ("size", "quality", "identity", "content", "bands"):
            getattr(facts, name)[here] = getattr(theirs, name)[row[here]]
        for name, names in (("domain", "domains"), ("language", "languages")):
            known = getattr(facts, names)
            known += [new for new in getattr(theirs, names) if new not in known]
            places_of = np.array([known.index(n) for n in getattr(theirs, names)] or [0])
            getattr(facts, name)[here] = places_of[getattr(theirs, name)[row[here]]]
    return facts


def found_languages(facts: Facts) -> list[str | None]:
    """The language identified for each document, where a filter identified it."""
    return (
        [facts.languages[k] or None for k in facts.language.tolist()]
        if facts.languages
        else ([None] * len(facts))
    )


def count_documents(
    metas: Sequence[CountedMeta], sizes: Sequence[int], languages: Sequence[str | None]
) -> dict[str, dict[str, int]]:
    """By domain: documents and bytes, also by licence, by language, and by powers of two.

    The language is the one the source states, or else the one identified.
    """
    groups = Counter[tuple[str, str | None, str | None, int]]()
    sums = Counter[tuple[str, str | None, str | None, int]]()
    for meta, size, language in zip(metas, sizes, languages, strict=True):
        group = (meta.pile_set_name, meta.licence, meta.language or language, size.bit_length())
        groups[group] += 1
        sums[group] += size
    statistics: dict[str, Counter[str]] = defaultdict(Counter)
    for group, number in groups.items():
        name, licence, language, length = group
        tally = statistics[name]
        by_licence, by_language = (
            f"licence.{licence or UNKNOWN}.",
            f"language.{language or UNKNOWN}.",
        )
        for key in ("", by_licence, by_language, f"length.{length}."):
            tally[f"{key}documents"] += number
            tally[f"{key}bytes"] += sums[group]
    return {name: dict(tally) for name, tally in statistics.items()}
