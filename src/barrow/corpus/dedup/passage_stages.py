"""Repeated passages as tasks: seeds, which of them are repeated, windows, owners, cuts.

Each function is a task of the engine. Seeds, windows and cuts are of one part; what is repeated and
who the owner is are questions to some buckets of the hashes of all parts. No task holds more than a
part, or than so many hashes.

An owner is settled in two steps: a part sends on one of its equal windows only, the one that would
stay if there were no other part, so that no hash has more entries than there are parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.corpus.dedup.buckets import bucket_bounds, load_buckets, load_slice
from barrow.corpus.dedup.part_texts import part_texts
from barrow.corpus.dedup.parts import Parts, load_arrays, save_arrays
from barrow.corpus.dedup.passage_owners import group_windows, repeated
from barrow.corpus.dedup.passage_windows import Windows, select_seeds, window_hashes
from barrow.corpus.facts import load_columns
from barrow.corpus.scratch import Scratch
from barrow.corpus.word_hashes import word_hashes

VERSION = 1
RESULT = "result.safetensors"


def find_seeds(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """The seeds of one part's documents, sorted, with the document each is of.

    That a seed is twice in a document counts; how often is nobody's concern.
    """
    documents, facts, *rest = files
    removals = rest[: settings["num_removals"]]
    wanted = load_columns(facts, ("kept",))["kept"].copy()
    for path in removals:
        numbers = load_arrays(path)["removed"] - settings["offset"]
        wanted[numbers[(numbers >= 0) & (numbers < len(wanted))]] = False
    scratch = Scratch()
    values, rows = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for texts in part_texts(
        documents, settings["start"], wanted, facts, *rest[settings["num_removals"] :]
    ):
        words = word_hashes(texts.text, texts.offsets, scratch)
        seeds = select_seeds(words, settings["min_words"], scratch)
        values.append(seeds.value.copy())
        rows.append(texts.rows[seeds.document])
    value, row = np.concatenate(values), np.concatenate(rows)
    order = np.lexsort((row, value))
    value, row = value[order], row[order]
    third = np.zeros(len(value), np.bool_)
    third[2:] = (value[2:] == value[:-2]) & (row[2:] == row[:-2])
    value, row = value[~third], row[~third]
    save_arrays(out / RESULT, values=value, rows=row, bounds=bucket_bounds(value))


def find_repeated(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Which seeds of each part are repeated somewhere, in some buckets."""
    loaded = [load_buckets(path, settings["buckets"], ("values",)) for path in files]
    values = [arrays["values"] for _, arrays in loaded]
    flags = repeated(np.concatenate(values))
    ends = np.cumsum([0, *map(len, values)])
    found = [
        np.flatnonzero(flags[ends[k] : ends[k + 1]]) + start for k, (start, _) in enumerate(loaded)
    ]
    save_arrays(
        out / RESULT,
        found=np.concatenate(found),
        bounds=np.cumsum([0, *map(len, found)], dtype=np.int64),
    )


def find_windows(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """The windows of one part that may be repeated: one of each kind, and the others.

    `first`, `second`, `rows` and `starts` are of the best of equal windows, sorted by hash;
    `others` has a row, a start and the place of the best one for each of the rest.
    """
    num_repeated = settings["num_repeated"]
    documents, facts, seeds_path, *rest = files
    found = np.concatenate([part_slice(path, "found", settings) for path in rest[:num_repeated]])
    seeds = load_arrays(seeds_path)
    known = np.unique(seeds["values"][found])
    wanted = np.zeros(settings["size"], np.bool_)
    wanted[seeds["rows"][found]] = True
    scratch = Scratch()
    none, nowhere = np.empty(0, np.uint64), np.empty(0, np.int64)
    parts = [Windows(none, none, nowhere, nowhere)]
    for texts in part_texts(documents, settings["start"], wanted, facts, *rest[num_repeated:]):
        words = word_hashes(texts.text, texts.offsets, scratch)
        selected = select_seeds(words, settings["min_words"], scratch)
        places = np.minimum(np.searchsorted(known, selected.value), len(known) - 1)
        chosen = known[places] == selected.value
        windows = window_hashes(words, selected, chosen, settings["min_words"])
        parts.append(windows._replace(document=texts.rows[windows.document]))
    first, second, row, start = (np.concatenate(column) for column in zip(*parts, strict=True))
    rank = Parts([facts], settings["order"]).ranks(np.arange(settings["size"]))
    groups = group_windows(first, second, rank[row], start)
    best = groups.owners
    others = np.ones(len(first), np.bool_)
    others[best] = False
    save_arrays(
        out / RESULT,
        first=first[best],
        second=second[best],
        rows=row[best],
        starts=start[best],
        bounds=bucket_bounds(first[best]),
        others=np.stack([row[others], start[others], groups.group[others]]),
    )


def find_owners(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Which windows of each part, in some buckets, have their owner in another, and its id."""
    parts = Parts(files, settings)
    names = ("first", "second", "rows")
    windows = files[len(parts.files) :]
    loaded = [load_buckets(path, settings["buckets"], names) for path in windows]
    first, second = (np.concatenate([arrays[n] for _, arrays in loaded]) for n in names[:2])
    number = np.concatenate(
        [arrays["rows"] + parts.offsets[k] for k, (_, arrays) in enumerate(loaded)]
    )
    concerned = np.unique(number)
    ranks = parts.ranks(concerned) if len(concerned) else concerned
    rank = ranks[np.searchsorted(concerned, number)]
    groups = group_windows(first, second, rank, np.zeros(len(rank), np.int64))
    owner = groups.owners[groups.group]
    lost = owner != np.arange(len(owner))
    place = np.concatenate([np.arange(len(a["rows"])) + start for start, a in loaded])
    ends = np.cumsum([0, *(len(arrays["rows"]) for _, arrays in loaded)])
    save_arrays(
        out / RESULT,
        lost=place[lost],
        of_identity=parts.identities(number[owner[lost]]),
        bounds=np.r_[0, np.cumsum(lost)][ends].astype(np.int64),
    )


def part_slice(path: str, name: str, settings: Mapping[str, Any]) -> npt.NDArray[Any]:
    """What a task that looked at all parts says about one of them, the `part` of the settings."""
    start, stop = load_slice(path, "bounds", settings["part"], settings["part"] + 2).tolist()
    return load_slice(path, name, start, stop)
