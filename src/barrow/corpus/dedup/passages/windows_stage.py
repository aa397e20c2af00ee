"""The windows of one part that may be repeated: one of each kind, and the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.corpus.build.parts import PartFiles
from barrow.corpus.dedup.numbering import Order, Parts, load_arrays, save_arrays
from barrow.corpus.dedup.passages.buckets import bucket_bounds, load_part
from barrow.corpus.dedup.passages.owners import group_windows
from barrow.corpus.dedup.passages.part_texts import part_texts
from barrow.corpus.dedup.passages.units import unit_hashes, unit_spans
from barrow.corpus.dedup.passages.windows import Windows, select_seeds, window_hashes
from barrow.corpus.dedup.settings import Unit
from barrow.corpus.kernels.scratch import Scratch
from barrow.engine import File, Output, Outputs, Stage


@dataclass(frozen=True)
class Settings:
    """A part: its number among parts, its first document in the file, and its order.

    Windows have `min_words` units, and at least `min_bytes` from the first to the last.
    """

    part: int
    start: int
    min_words: int
    order: Order
    unit: Unit = "word"
    min_bytes: int = 1


@dataclass(frozen=True)
class Inputs:
    """The texts of a part, its seeds, and which of all seeds are repeated."""

    part: PartFiles
    seeds: File
    repeated: tuple[File, ...]


class Found(Outputs):
    """`first`, `second`, `rows` and `starts` are of the best of equal windows, sorted by hash;
    `others` has a row, a start and the place of the best one for each of the rest. `bounds` are
    those of buckets, with the number of the others.
    """

    windows = Output("windows.safetensors", temporary=True)
    bounds = Output("bounds.safetensors")


def find_windows(settings: Settings, inputs: Inputs, out: Found) -> None:
    """Find all windows whose seed is repeated.

    A part passes on only one of its equal windows, the one it would keep if it were the only part,
    so that no hash has more entries than there are parts.
    """
    (size,) = settings.order.sizes
    found = np.concatenate([load_part(file, "found", settings.part) for file in inputs.repeated])
    seeds = load_arrays(inputs.seeds)
    known = np.unique(seeds["values"][found])
    wanted = np.zeros(size, np.bool_)
    wanted[seeds["rows"][found]] = True
    scratch = Scratch()
    none, nowhere = np.empty(0, np.uint64), np.empty(0, np.int64)
    parts = [Windows(none, none, nowhere, nowhere)]
    for texts in part_texts(inputs.part, settings.start, wanted):
        words = unit_hashes(settings.unit, texts.text, texts.offsets, scratch)
        selected = select_seeds(words, settings.min_words, scratch)
        places = np.minimum(np.searchsorted(known, selected.value), len(known) - 1)
        chosen = known[places] == selected.value
        windows = window_hashes(words, selected, chosen, settings.min_words)
        if settings.min_bytes > 1:
            spans = unit_spans(settings.unit, texts.text, texts.offsets, scratch)
            at = spans.offsets[windows.document] + windows.start
            sizes = spans.ends[at + settings.min_words - 1] - spans.starts[at]
            windows = Windows(*(column[sizes >= settings.min_bytes] for column in windows))
        parts.append(windows._replace(document=texts.rows[windows.document]))
    first, second, row, start = (np.concatenate(column) for column in zip(*parts, strict=True))
    rank = Parts([inputs.part.facts], settings.order).ranks(np.arange(size))
    groups = group_windows(first, second, rank[row], start)
    best = groups.owners
    others = np.ones(len(first), np.bool_)
    others[best] = False
    bounds = bucket_bounds(first[best])
    save_arrays(out.bounds, bounds=bounds, num_others=np.array([others.sum()]))
    save_arrays(
        out.windows,
        first=first[best],
        second=second[best],
        rows=row[best],
        starts=start[best],
        bounds=bounds,
        others=np.stack([row[others], start[others], groups.group[others]]),
    )


WINDOWS = Stage("corpus.passage_windows", 2, find_windows, Found)
