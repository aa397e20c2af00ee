"""Candidates for near-duplicates: pairs of documents that share a band hash."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.corpus.build.facts import load_band, load_columns
from barrow.corpus.dedup.candidates import candidate_pairs
from barrow.corpus.dedup.numbering import Order, Parts, Removals, save_arrays
from barrow.engine import File, Output, Outputs, Stage


@dataclass(frozen=True)
class Settings:
    """One band, and one partition of its hashes."""

    order: Order
    band: int
    partition: int
    of: int


@dataclass(frozen=True)
class Inputs:
    """Facts of all parts, and the exact copies already removed."""

    facts: tuple[File, ...]
    removals: Removals


class Candidates(Outputs):
    """Pairs of document numbers."""

    pairs = Output("pairs.safetensors", temporary=True)


def find_candidates(settings: Settings, inputs: Inputs, out: Candidates) -> None:
    """Find the pairs that share a hash of the band."""
    parts = Parts(inputs.facts, settings.order)
    removed = inputs.removals.flags(len(parts))
    bands, ranks, numbers = [], [], []
    for k, file in enumerate(parts.files):
        band = load_band(file, settings.band)
        columns = load_columns(file, ("kept", "content"))
        here = slice(parts.offsets[k], parts.offsets[k + 1])
        mine = columns["kept"] & ~removed[here] & (band % settings.of == settings.partition)
        rows = np.flatnonzero(mine)
        bands.append(band[rows])
        ranks.append(columns["content"][rows, 0])
        numbers.append(rows + parts.offsets[k])
    pairs = candidate_pairs(*(np.concatenate(column) for column in (bands, ranks, numbers)))
    save_arrays(out.pairs, pairs=pairs[pairs[:, 0] < parts.first_known])


BANDS = Stage("corpus.bands", 1, find_candidates, Candidates)
