"""Which near-duplicates stay, of all verified pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.corpus.dedup.clusters import choose
from barrow.corpus.dedup.numbering import Order, Parts, load_arrays, save_arrays
from barrow.engine import File, Output, Outputs, Stage


@dataclass(frozen=True)
class Inputs:
    """Facts of all parts, and verified pairs."""

    facts: tuple[File, ...]
    verified: tuple[File, ...]


class Chosen(Outputs):
    """Numbers of removed documents, each with the id of the kept one, and cluster labels."""

    removed = Output("removed.safetensors")


def choose_kept(order: Order, inputs: Inputs, out: Chosen) -> None:
    """Choose from every cluster.

    The result also has a label for each document in a pair: documents connected by pairs share it,
    whatever the order of the input, so that a split keeps them together.
    """
    parts = Parts(inputs.facts, order)
    verified = [load_arrays(file) for file in inputs.verified]
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(v["pairs"] for v in verified)])
    value = np.concatenate([np.empty(0), *(v["similarity"] for v in verified)])
    numbers = np.unique(pairs)
    ranks = parts.ranks(numbers) if len(numbers) else numbers
    found = choose(len(numbers), np.searchsorted(numbers, pairs), value, ranks)
    # A cluster is named after its best document.
    leader = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(leader, found.cluster, ranks)
    identity = parts.identities(numbers)
    by_rank = np.argsort(ranks)
    labels = identity[by_rank[leader[found.cluster]], 0]
    gone = np.flatnonzero((found.of >= 0) & (numbers < parts.first_known))
    save_arrays(
        out.removed,
        removed=numbers[gone],
        of_identity=identity[found.of[gone]],
        similarity=found.similarity[gone],
        numbers=numbers,
        labels=labels,
    )


CHOOSE = Stage("corpus.choose", 1, choose_kept, Chosen)
