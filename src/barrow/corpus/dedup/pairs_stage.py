"""All candidate pairs, each once, and a plan to verify them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from barrow.corpus.build.facts import load_columns
from barrow.corpus.dedup.numbering import Order, Parts, load_arrays, save_arrays
from barrow.engine import File, Output, Outputs, Stage
from barrow.files import write_part

# Shingles that a verifying task holds at a time, in bytes of their text.
_CHUNK_BYTES = 1 << 26


@dataclass(frozen=True)
class Inputs:
    """Facts of all parts, and pairs of all bands."""

    facts: tuple[File, ...]
    bands: tuple[File, ...]


class Pairs(Outputs):
    """Pairs, their documents, the parts of these, and where chunks of pairs begin."""

    pairs = Output("pairs.safetensors", temporary=True)
    plan = Output("plan.json")


def join_pairs(order: Order, inputs: Inputs, out: Pairs) -> None:
    """Join the pairs of all bands; list the documents needed, and chunks of bounded size."""
    parts = Parts(inputs.facts, order)
    pairs = np.unique(np.concatenate([load_arrays(band)["pairs"] for band in inputs.bands]), axis=0)
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
    save_arrays(out.pairs, pairs=pairs, needed=needed)
    plan = {"parts": np.flatnonzero(np.diff(ends)).tolist(), "chunks": [*starts, len(pairs)]}
    write_part(out.plan.path, json.dumps(plan).encode())


PAIRS = Stage("corpus.pairs", 1, join_pairs, Pairs)
