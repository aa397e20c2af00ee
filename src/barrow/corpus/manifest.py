"""`manifest.json`: what a corpus is made of, and what every stage did to it.

    recipe, version, barrow   the recipe's name, how often the corpus was changed, by what program
    recipe_sha256             that of recipe.json
    missing                   domains that were left out, and why
    reading                   by folder: files, documents, bytes, rejects by reason, files not read
    evaluation_sets           items searched for, and those too short
    stages                    by domain: what filters, decontamination, deduplication and mixture
                              got, gave and counted
    taken_down                documents and rejects that were taken down since it was built, if any
    splits                    by split: shards with checksums; by domain documents, bytes, licences,
                              languages, lengths (by powers of two)

Nothing in it depends on when or where the corpus was built.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from barrow.archive.catalog import ShardEntry
from barrow.corpus.build.decontaminate import Indexed, load_index
from barrow.corpus.build.gather import Gathered
from barrow.corpus.build.read import Read
from barrow.corpus.build.sources import Source
from barrow.corpus.build.stages import Built
from barrow.corpus.dedup.passages.cut_stage import REASON, REASON_LINES
from barrow.corpus.recipe import Recipe
from barrow.corpus.report.portable_recipe import recipe_hash
from barrow.engine import File

MANIFEST = "manifest.json"

# Of repeated passages: how many were cut, their words and bytes (with documents that went whole),
# and how many documents stay without them. Of lines likewise, where the recipe has them cut.
_COUNTED = ("passages", "words", "bytes", "documents")
_NAMES = {"passages": _COUNTED, "lines": ("spans", "units", "bytes", "documents")}
_REASONS = {"passages": REASON, "lines": REASON_LINES}


def manifest(
    recipe: Recipe,
    missing: dict[str, str],
    built: Built,
    shards: Mapping[str, list[ShardEntry]],
    *,
    version_number: int = 1,
) -> dict[str, Any]:
    """The manifest of a build, from what its tasks counted."""
    return {
        "recipe": recipe.name,
        "recipe_sha256": recipe_hash(recipe),
        "version": version_number,
        "barrow": version("barrow"),
        "missing": missing,
        "reading": _reading(built.read),
        "evaluation_sets": _evaluation_sets(built.indexed),
        "stages": _stages(built),
        "splits": {
            split: {
                "shards": [msgspec.to_builtins(entry) for entry in entries],
                "domains": composition(_statistics(built.shards[split])),
            }
            for split, entries in shards.items()
        },
    }


def _evaluation_sets(indexed: Indexed | None) -> dict[str, int]:
    """Items that documents were compared with, and those too short."""
    if indexed is None:
        return {"items": 0, "too_short": 0}
    found = load_index(indexed.ngrams.path)
    return {"items": len(found.items), "too_short": found.num_too_short}


def _reading(read: Iterable[tuple[Source, Read]]) -> dict[str, Any]:
    domains: dict[str, Any] = {}
    for source, result in read:
        counts = _loaded(result.counts)
        domain = domains.setdefault(
            source.folder,
            {
                "name": source.domain.name,
                "extractor": source.domain.reader.extractor,
                "files": sum(map(len, source.groups)),
                "documents": 0,
                "bytes": 0,
                "rejects": {},
                "unread_files": len(source.unread),
                "unread_examples": source.unread[:10],
            },
        )
        for key in ("documents", "bytes"):
            domain[key] += counts[key]
        domain["rejects"] = _sum([domain["rejects"], counts["rejects"]])
    return domains


def _stages(built: Built) -> dict[str, Any]:
    examined, scattered = (
        total_by_domain(_loaded(result.counts) for result in results)
        for results in (built.examined, built.scattered)
    )
    cuts = {
        what: total_by_domain(_loaded(result.counts) for result in made.results)
        for what, made in built.cuts.items()
    }
    domains: dict[str, Any] = {}
    for name, counts in sorted(examined.items()):
        later = scattered.get(name, {})
        cut: dict[str, dict[str, int]] = {"passages": {}}
        cut |= {what: counted.get(name, {}) for what, counted in cuts.items()}
        removed = {key: number for key, number in later.items() if "." not in key}
        for what, counted in cut.items():
            if counted.get("whole"):
                removed[_REASONS[what]] = counted["whole"]
        domains[name] = {
            "documents": counts["documents"],
            "bytes": counts["bytes"],
            "filter": {
                "documents": counts.get("kept", 0),
                "bytes": counts.get("kept_bytes", 0),
                "changed": counts.get("changed", 0),
                "rejects": _under(counts, "rejects."),
                "found": _under(counts, "found."),
                "matches": _under(counts, "matches."),
                "languages": _languages(counts),
            },
            "deduplicate": {
                "documents": counts.get("kept", 0) - _removed(removed),
                "bytes": counts.get("kept_bytes", 0)
                - _removed(_under(later, "bytes."))
                - sum(counted.get("bytes", 0) for counted in cut.values()),
                "rejects": {k: n for k, n in removed.items() if k != "not-drawn"},
                **{
                    what: {
                        title: counted.get(key, 0)
                        for title, key in zip(_NAMES[what], _COUNTED, strict=True)
                    }
                    for what, counted in cut.items()
                },
            },
            "mix": {
                "epochs": built.plan["domains"].get(name, {}).get("epochs", 0.0),
                "rejects": {k: n for k, n in removed.items() if k == "not-drawn"},
            },
        }
    return domains


def _languages(counts: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Documents by the language that a filter identified, and those that all filters kept."""
    kept = _under(counts, "languages_kept.")
    read = _under(counts, "languages.")
    return {code: {"documents": number, "kept": kept[code]} for code, number in read.items()}


def _removed(counts: Mapping[str, int]) -> int:
    return sum(number for reason, number in counts.items() if reason != "not-drawn")


def _statistics(results: Iterable[Gathered]) -> dict[str, dict[str, int]]:
    return total_by_domain(_loaded(result.statistics) for result in results)


def _loaded(file: File) -> Any:
    return json.loads(file.path.read_text())


def composition(statistics: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """The counts of the last stage, for the manifest."""
    domains: dict[str, Any] = {}
    for name, counts in sorted(statistics.items()):
        domain: dict[str, Any] = {"documents": counts["documents"], "bytes": counts["bytes"]}
        for group, plural in (
            ("licence", "licences"),
            ("language", "languages"),
            ("length", "lengths"),
        ):
            values: dict[str, dict[str, int]] = defaultdict(dict)
            for key, number in _under(counts, f"{group}.").items():
                value, _, unit = key.rpartition(".")
                values[value][unit] = number
            domain[plural] = dict(sorted(values.items()))
        domains[name] = domain
    return domains


def rejects_by_domain(manifest: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Of a manifest: rejected documents by domain and reason, over all stages."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for domain in manifest["reading"].values():
        found[domain["name"]].update(domain["rejects"])
    for name, stages in manifest["stages"].items():
        for stage in ("filter", "deduplicate", "mix"):
            found[name].update(stages[stage]["rejects"])
    return {name: dict(sorted(counts.items())) for name, counts in found.items()}


def num_reject_records(manifest: Mapping[str, Any]) -> int:
    """Of a manifest: how many records the archive of rejects has.

    There is one for each document that was dropped, and one for each passage that was cut.
    """
    total = sum(sum(counts.values()) for counts in rejects_by_domain(manifest).values())
    for stages in manifest["stages"].values():
        removed = stages["deduplicate"]
        for what, reason in _REASONS.items():
            total += removed.get(what, {}).get(_NAMES[what][0], 0)
            total -= removed["rejects"].get(reason, 0)
    return total - int(manifest.get("taken_down", {}).get("rejects", 0))


def _under(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {
        key.removeprefix(prefix): number for key, number in counts.items() if key.startswith(prefix)
    }


def total_by_domain(
    counts: Iterable[Mapping[str, Mapping[str, int]]],
) -> dict[str, dict[str, int]]:
    """The sum of counts by domain."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for part in counts:
        for name, numbers in part.items():
            found[name].update(numbers)
    return {name: dict(numbers) for name, numbers in found.items()}


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in counts:
        total.update(part)
    return dict(sorted(total.items()))
