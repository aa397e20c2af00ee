"""The stage between deciding and writing: thresholds for splits and mixture, over all documents."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow import config
from barrow.corpus.dedup.parts import load_arrays, removed_flags
from barrow.corpus.facts import Facts, load_facts
from barrow.corpus.mix import (
    SPLITS,
    Histogram,
    Mixture,
    Splits,
    below,
    check_shares,
    epochs_by_weight,
    places,
)

VERSION = 1
PLAN = "plan.json"

_SPLIT, _DRAW, ORDER = 1, 2, 3  # purposes of places; ORDER + k for the k-th copy


def labels_of(
    facts: Facts, offset: int, clusters: Mapping[str, npt.NDArray[Any]] | None
) -> npt.NDArray[np.uint64]:
    """What a document's split is decided by: its cluster's name, or its own."""
    labels = facts.identity[:, 0].copy()
    if clusters is not None:
        first, last = np.searchsorted(clusters["numbers"], (offset, offset + len(facts)))
        labels[clusters["numbers"][first:last] - offset] = clusters["labels"][first:last]
    return labels


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
    """How often each document of the training set is taken."""
    whole = np.array([plan[name]["whole"] for name in facts.domains], np.int64)
    threshold = np.array([plan[name]["threshold"] for name in facts.domains], np.float64)
    where = places(facts.identity[:, 0], seed, _DRAW)
    drawn = np.zeros(len(facts), np.bool_)
    for k, value in enumerate(threshold):
        mine = facts.domain == k
        drawn[mine] = below(where[mine], float(value))
    return whole[facts.domain] + drawn


def plan(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Thresholds by domain, and the bytes that each split will have."""
    sizes = settings["sizes"]
    offsets = np.cumsum([0, *sizes])
    parts, rest = files[: len(sizes)], files[len(sizes) :]
    removals = rest[: settings["num_removals"]]
    removed = removed_flags(int(offsets[-1]), removals)
    clusters = load_arrays(rest[-1]) if settings["clusters"] else None
    splits = config.from_dict(Splits, settings["splits"])
    seed = settings["seed"]

    whole = Histogram()
    for k, path in enumerate(parts):
        facts = load_facts(path)
        stays = facts.kept & ~removed[offsets[k] : offsets[k + 1]]
        labels = labels_of(facts, int(offsets[k]), clusters)[stays]
        whole.add(places(labels, seed, _SPLIT), facts.size[stays])
    test = whole.threshold(splits.test)
    held_out = whole.threshold(splits.test + splits.validation)
    thresholds = {"test": test, "validation": max(0.0, held_out - test)}

    histograms: dict[str, Histogram] = defaultdict(Histogram)
    held: dict[str, float] = dict.fromkeys(SPLITS, 0.0)
    numbers: dict[str, int] = dict.fromkeys(SPLITS, 0)
    for k, path in enumerate(parts):
        facts = load_facts(path)
        stays = facts.kept & ~removed[offsets[k] : offsets[k + 1]]
        split = split_of(labels_of(facts, int(offsets[k]), clusters), seed, thresholds)
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
    mixture = config.from_dict(Mixture, settings["mixture"])
    if mixture.by == "weight":
        check_shares(settings["weights"], taken, mixture.tolerance)
    told = {"domains": domains, "splits": thresholds, "bytes": held, "documents": numbers}
    (out / PLAN).write_text(json.dumps(told, indent=1))


def _epochs(settings: Mapping[str, Any], sizes: dict[str, float]) -> dict[str, float]:
    mixture = config.from_dict(Mixture, settings["mixture"])
    if mixture.by == "once":
        return dict.fromkeys(sizes, 1.0)
    if mixture.by == "epochs":
        told = {name: settings["epochs"].get(name) for name in sizes}
        return {name: 1.0 if epochs is None else epochs for name, epochs in told.items()}
    return epochs_by_weight(settings["weights"], sizes, mixture) if sizes else {}
