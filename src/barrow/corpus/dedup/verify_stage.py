"""The candidate pairs whose true similarity is high enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.corpus.dedup.numbering import load_arrays, save_arrays
from barrow.corpus.dedup.similarity import similarities
from barrow.corpus.kernels.word_hashes import Words
from barrow.engine import File, Output, Outputs, Stage


@dataclass(frozen=True)
class Settings:
    """Pairs `start` to `stop`, and the similarity they must have."""

    start: int
    stop: int
    similarity: float


@dataclass(frozen=True)
class Inputs:
    """The candidate pairs, and shingles by part, in the order of their documents' numbers."""

    pairs: File
    shingles: tuple[File, ...]


class Verified(Outputs):
    """Pairs of near-duplicates, and how similar they are."""

    pairs = Output("pairs.safetensors", temporary=True)


def verify(settings: Settings, inputs: Inputs, out: Verified) -> None:
    """Measure the similarity of some pairs."""
    pairs = load_arrays(inputs.pairs)["pairs"][settings.start : settings.stop]
    needed = np.unique(pairs)
    hashes, sizes = [], np.zeros(len(needed), np.int64)
    for file in inputs.shingles:
        arrays = load_arrays(file)
        here = np.flatnonzero(np.isin(arrays["numbers"], needed, assume_unique=True))
        offsets = arrays["offsets"]
        hashes += [arrays["hashes"][offsets[k] : offsets[k + 1]].copy() for k in here.tolist()]
        places = np.searchsorted(needed, arrays["numbers"][here])
        sizes[places] = np.diff(offsets)[here]
    shingles = Words(np.concatenate(hashes), np.r_[0, np.cumsum(sizes)].astype(np.int64))
    first, second = np.searchsorted(needed, pairs[:, 0]), np.searchsorted(needed, pairs[:, 1])
    value = similarities(shingles, first, second)
    near = value >= settings.similarity
    save_arrays(out.pairs, pairs=pairs[near], similarity=value[near])


VERIFY = Stage("corpus.verify", 1, verify, Verified)
