"""Between filtering and writing: thresholds of splits and mixture, over all documents."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.corpus.build.facts import Facts, load_facts
from barrow.corpus.build.parts import Examined
from barrow.corpus.dedup.numbering import Removals
from barrow.corpus.mixture import (
    SPLITS,
    Histogram,
    Mixture,
    Splits,
    below,
    check_shares,
    epochs_by_weight,
    places,
)
from barrow.corpus.recipe import Recipe
from barrow.engine import File, Output, Outputs, Stage, Task
from barrow.files import write_part

# Bytes shuffled in memory at a time.
_BUCKET_BYTES = 1 << 26
_LINE_BYTES = 450  # of a document's line beside its text, about

# For each split, the numbers of shards and of buckets per shard.
Buckets = dict[str, tuple[int, int]]

_SPLIT, _DRAW, ORDER = 1, 2, 3  # purposes of places; ORDER + k for the k-th copy


def clusters_of(
    facts: Facts, offset: int, clusters: Mapping[str, npt.NDArray[Any]] | None
) -> npt.NDArray[np.uint64]:
    """The name of each document's cluster, 0 if it is in none."""
    names = np.zeros(len(facts), np.uint64)
    if clusters is not None:
        first, last = np.searchsorted(clusters["numbers"], (offset, offset + len(facts)))
        names[clusters["numbers"][first:last] - offset] = clusters["labels"][first:last]
    return names


def labels_of(facts: Facts, cluster: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The label that decides a document's split: its cluster's name, or its own."""
    return np.where(cluster != 0, cluster, facts.identity[:, 0])


def split_of(
    labels: npt.NDArray[np.uint64], seed: int, thresholds: Mapping[str, float]
) -> npt.NDArray[np.int8]:
    """0 for train, 1 for validation, 2 for test."""
    where = places(labels, seed, _SPLIT)
    split = np.zeros(len(labels), np.int8)
    split[below(where, thresholds["test"] + thresholds["validation"])] = 1
    split[below(where, thresholds["test"])] = 2
    return split


def copies_of(
    facts: Facts, seed: int, plan: Mapping[str, Mapping[str, float]]
) -> npt.NDArray[np.int64]:
    """How often each document of the training split is taken."""
    whole = np.array([plan[name]["whole"] for name in facts.domains], np.int64)
    threshold = np.array([plan[name]["threshold"] for name in facts.domains], np.float64)
    where = places(facts.identity[:, 0], seed, _DRAW)
    drawn = np.zeros(len(facts), np.bool_)
    for k, value in enumerate(threshold):
        mine = facts.domain == k
        drawn[mine] = below(where[mine], float(value))
    return whole[facts.domain] + drawn


@dataclass(frozen=True)
class Settings:
    """The numbers of documents of parts, and the recipe's splits and mixture.

    `epochs` and `weights` are by domain.
    """

    sizes: tuple[int, ...]
    seed: int
    splits: Splits
    mixture: Mixture
    epochs: dict[str, float | None]
    weights: dict[str, float]


@dataclass(frozen=True)
class Inputs:
    """Facts of parts, and what deduplication removed."""

    facts: tuple[File, ...]
    removals: Removals


class Planned(Outputs):
    """Thresholds by domain, and what each split will have."""

    plan = Output("plan.json")


def plan_task(own: Sequence[Examined], removals: Removals, recipe: Recipe) -> Task[Planned]:
    """One task for all parts."""
    domains = recipe.domains.values()
    return PLAN.task(
        "plan",
        Settings(
            sizes=tuple(map(len, own)),
            seed=recipe.seed,
            splits=recipe.splits,
            mixture=recipe.mixture,
            epochs={domain.name: domain.epochs for domain in domains},
            weights={domain.name: domain.weight or 0.0 for domain in domains},
        ),
        Inputs(tuple(examined.files.facts for examined in own), removals),
    )


def plan(settings: Settings, inputs: Inputs, out: Planned) -> None:
    """Thresholds by domain, and the bytes that each split will have."""
    offsets = np.cumsum([0, *settings.sizes])
    removed = inputs.removals.flags(int(offsets[-1]))
    clusters = inputs.removals.clusters()
    splits, seed = settings.splits, settings.seed

    whole = Histogram()
    for k, path in enumerate(inputs.facts):
        facts = load_facts(path)
        stays = facts.kept & ~removed[offsets[k] : offsets[k + 1]]
        labels = labels_of(facts, clusters_of(facts, int(offsets[k]), clusters))[stays]
        whole.add(places(labels, seed, _SPLIT), facts.size[stays])
    test = whole.threshold(splits.test)
    evaluated = whole.threshold(splits.test + splits.validation)
    thresholds = {"test": test, "validation": max(0.0, evaluated - test)}

    histograms: dict[str, Histogram] = defaultdict(Histogram)
    held: dict[str, float] = dict.fromkeys(SPLITS, 0.0)
    numbers: dict[str, int] = dict.fromkeys(SPLITS, 0)
    for k, path in enumerate(inputs.facts):
        facts = load_facts(path)
        stays = facts.kept & ~removed[offsets[k] : offsets[k + 1]]
        labels = labels_of(facts, clusters_of(facts, int(offsets[k]), clusters))
        split = split_of(labels, seed, thresholds)
        where = places(facts.identity[:, 0], seed, _DRAW)
        for number, name in enumerate(SPLITS):
            held[name] += float(facts.size[stays & (split == number)].sum())
            numbers[name] += int((stays & (split == number)).sum())
        for number, name in enumerate(facts.domains):
            mine = stays & (split == 0) & (facts.domain == number)
            histograms[name].add(where[mine], facts.size[mine])

    epochs = _epochs(settings, {name: h.total for name, h in sorted(histograms.items())})
    domains: dict[str, dict[str, Any]] = {}
    taken = {}
    held["train"] = 0.0
    for name, histogram in sorted(histograms.items()):
        times, rest_of_epoch = divmod(epochs[name], 1.0)
        domains[name] = {
            "bytes": histogram.total,
            "epochs": epochs[name],
            "whole": int(times),
            "threshold": histogram.threshold(rest_of_epoch),
        }
        held["train"] += histogram.total * epochs[name]
        taken[name] = int(times) * histogram.total
        taken[name] += histogram.below(domains[name]["threshold"])
    if settings.mixture.by == "weight":
        check_shares(settings.weights, taken, settings.mixture.tolerance)
    result = {"domains": domains, "splits": thresholds, "bytes": held, "documents": numbers}
    write_part(out.plan.path, json.dumps(result, indent=1).encode())


PLAN = Stage("corpus.plan", 2, plan, Planned)


def _epochs(settings: Settings, sizes: dict[str, float]) -> dict[str, float]:
    mixture = settings.mixture
    if mixture.by == "once":
        return dict.fromkeys(sizes, 1.0)
    if mixture.by == "epochs":
        # Those of a domain without a name are for all that its records name.
        rest = settings.epochs.get("")
        asked = {name: settings.epochs.get(name, rest) for name in sizes}
        return {name: 1.0 if epochs is None else epochs for name, epochs in asked.items()}
    return epochs_by_weight(settings.weights, sizes, mixture) if sizes else {}


def buckets_of(plan: Mapping[str, Any], shard_size: int) -> Buckets:
    """The buckets documents are shuffled in, so that shards have about `shard_size` bytes."""
    found = {}
    for split in SPLITS:
        size = plan["bytes"][split] + _LINE_BYTES * plan["documents"][split]
        shards = ceil(size / shard_size)
        found[split] = (shards, ceil(size / shards / _BUCKET_BYTES) if shards else 0)
    return found
