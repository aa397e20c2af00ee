"""Deduplication as tasks: exact copies, candidates by band, shingles, verification, choice.

Each function is a task of the engine. What they hand on are arrays of document numbers; texts are
read again only of candidates. All but the last two work on a partition, so that their memory does
not grow with the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import barrow.archive
from barrow.corpus.dedup.candidates import candidate_pairs
from barrow.corpus.dedup.clusters import choose
from barrow.corpus.dedup.minhash import shingle_hashes
from barrow.corpus.dedup.parts import Parts, load_arrays, removed_flags, save_arrays
from barrow.corpus.dedup.similarity import similarities
from barrow.corpus.facts import load_band, load_columns
from barrow.corpus.filters.texts import Texts
from barrow.corpus.scratch import Scratch
from barrow.corpus.word_hashes import Words

VERSION = 1
RESULT = "result.safetensors"
PLAN = "plan.json"

# Shingles that a verifying task holds at a time, in bytes of text that they come from.
_CHUNK_BYTES = 1 << 26


def find_copies(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Exact duplicates among the documents whose content hash falls into this partition."""
    parts = Parts(files, settings)
    numbers, keys = [], []
    for k, file in enumerate(parts.files):
        columns = load_columns(file, ("kept", "content"))
        content = columns["content"]
        mine = columns["kept"] & (content[:, 0] % settings["of"] == settings["partition"])
        rows = np.flatnonzero(mine)
        numbers.append(rows + parts.offsets[k])
        keys.append([*parts.rank_columns(k, rows), content[rows, 1], content[rows, 0]])
    number = np.concatenate(numbers) if numbers else np.empty(0, np.int64)
    joined = [np.concatenate(column) for column in zip(*keys, strict=True)]
    order = np.lexsort(joined) if len(number) else np.empty(0, np.int64)
    first, second = joined[-1][order], joined[-2][order]
    is_copy = np.r_[False, (first[1:] == first[:-1]) & (second[1:] == second[:-1])][: len(order)]
    # The document that stays is the first of its run.
    leader = np.maximum.accumulate(np.where(is_copy, 0, np.arange(len(order))))
    copies = number[order][is_copy]
    leaders = number[order][leader][is_copy]
    own = copies < parts.first_known
    save_arrays(
        out / RESULT,
        removed=copies[own],
        of_identity=parts.identities(leaders[own]),
        similarity=np.ones(int(own.sum()), np.float64),
    )


def find_candidates(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Pairs that share a band hash, of one band and one partition of its hashes."""
    parts = Parts(files, settings)
    removed = removed_flags(len(parts), files[len(parts.files) :])
    bands, ranks, numbers = [], [], []
    for k, file in enumerate(parts.files):
        band = load_band(file, settings["band"])
        columns = load_columns(file, ("kept", "content"))
        here = slice(parts.offsets[k], parts.offsets[k + 1])
        mine = columns["kept"] & ~removed[here] & (band % settings["of"] == settings["partition"])
        rows = np.flatnonzero(mine)
        bands.append(band[rows])
        ranks.append(columns["content"][rows, 0])
        numbers.append(rows + parts.offsets[k])
    pairs = candidate_pairs(*(np.concatenate(column) for column in (bands, ranks, numbers)))
    save_arrays(out / RESULT, pairs=pairs[pairs[:, 0] < parts.first_known])


def gather_candidates(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """All pairs, each once; which documents of which parts are needed; chunks to verify them in."""
    parts = Parts(files, settings)
    found = [load_arrays(path)["pairs"] for path in files[len(parts.files) :]]
    pairs = np.unique(np.concatenate(found), axis=0)
    needed = np.unique(pairs)
    sizes = np.zeros(len(needed), np.int64)
    ends = np.searchsorted(needed, parts.offsets)
    for k, file in enumerate(parts.files):
        if ends[k + 1] > ends[k]:
            rows = needed[ends[k] : ends[k + 1]] - parts.offsets[k]
            sizes[ends[k] : ends[k + 1]] = load_columns(file, ("size",))["size"][rows]
    weight = sizes[np.searchsorted(needed, pairs)].sum(axis=1)
    chunk = np.cumsum(weight) // _CHUNK_BYTES
    starts = np.flatnonzero(np.r_[True, chunk[1:] != chunk[:-1]])[: len(pairs)].tolist()
    save_arrays(out / RESULT, pairs=pairs, needed=needed)
    plan = {
        "parts": np.flatnonzero(np.diff(ends)).tolist(),
        "chunks": [*starts, len(pairs)],
    }
    (out / PLAN).write_text(json.dumps(plan))


def shingle(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """The shingles of the documents of one part that are in some pair."""
    documents, candidates, *rest = files
    offset, start = settings["offset"], settings["start"]
    needed = load_arrays(candidates)["needed"]
    rows = needed[(needed >= offset) & (needed < offset + settings["size"])] - offset
    changed: dict[int, str] = {}
    if rest:
        facts, mended = rest
        columns = load_columns(facts, ("kept", "changed"))
        changed_rows = np.flatnonzero(columns["kept"] & columns["changed"]).tolist()
        texts = (document.text for document in barrow.archive.open(mended, threads=1))
        changed = dict(zip(changed_rows, texts, strict=True))
    archive = barrow.archive.open(documents, threads=1)[start : start + settings["size"]]
    wanted = np.zeros(settings["size"], np.bool_)
    wanted[rows] = True
    shingles: list[Words] = []
    scratch = Scratch()
    at = 0
    for block in archive.blocks():
        chosen = np.flatnonzero(wanted[at : at + len(block)]).tolist()
        if chosen:
            told = [changed.get(at + i) or block.text_of(i) for i in chosen]
            few = Texts.of_strings(told, [{}] * len(told), scratch)
            found = shingle_hashes(few.words, scratch)
            shingles.append(Words(found.hashes.copy(), found.offsets))
        at += len(block)
    sizes = np.concatenate([np.diff(words.offsets) for words in shingles])
    save_arrays(
        out / RESULT,
        numbers=rows + offset,
        hashes=np.concatenate([words.hashes for words in shingles]),
        offsets=np.r_[0, np.cumsum(sizes)].astype(np.int64),
    )


def verify(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """The pairs of a chunk whose true similarity is high enough."""
    candidates, *shingled = files
    start, stop = settings["chunk"]
    pairs = load_arrays(candidates)["pairs"][start:stop]
    needed = np.unique(pairs)
    hashes, sizes = [], np.zeros(len(needed), np.int64)
    for path in shingled:  # in the order of their numbers
        arrays = load_arrays(path)
        here = np.flatnonzero(np.isin(arrays["numbers"], needed, assume_unique=True))
        offsets = arrays["offsets"]
        hashes += [arrays["hashes"][offsets[k] : offsets[k + 1]].copy() for k in here.tolist()]
        places = np.searchsorted(needed, arrays["numbers"][here])
        sizes[places] = np.diff(offsets)[here]
    shingles = Words(np.concatenate(hashes), np.r_[0, np.cumsum(sizes)].astype(np.int64))
    first, second = np.searchsorted(needed, pairs[:, 0]), np.searchsorted(needed, pairs[:, 1])
    value = similarities(shingles, first, second)
    near = value >= settings["similarity"]
    save_arrays(out / RESULT, pairs=pairs[near], similarity=value[near])


def choose_kept(out: Path, files: list[str], settings: Mapping[str, Any]) -> None:
    """Which documents stay, of all verified pairs.

    The result also has a label for each document that is in a pair: the same for those that pairs
    connect, whatever the order of the input, so that a split does not part them.
    """
    parts = Parts(files, settings)
    verified = [load_arrays(path) for path in files[len(parts.files) :]]
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(v["pairs"] for v in verified)])
    value = np.concatenate([np.empty(0), *(v["similarity"] for v in verified)])
    numbers = np.unique(pairs)
    ranks = parts.ranks(numbers) if len(numbers) else numbers
    found = choose(len(numbers), np.searchsorted(numbers, pairs), value, ranks)
    # The best of a cluster is its leader, and gives it its name.
    leader = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(leader, found.cluster, ranks)
    identity = parts.identities(numbers)
    by_rank = np.argsort(ranks)
    labels = identity[by_rank[leader[found.cluster]], 0]
    gone = np.flatnonzero((found.of >= 0) & (numbers < parts.first_known))
    save_arrays(
        out / RESULT,
        removed=numbers[gone],
        of_identity=identity[found.of[gone]],
        similarity=found.similarity[gone],
        numbers=numbers,
        labels=labels,
    )
