"""The seeds of one part's documents: a few of their words' hashes, by which passages are found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.corpus.build.facts import load_columns
from barrow.corpus.build.parts import PartFiles
from barrow.corpus.dedup.numbering import Removals, save_arrays
from barrow.corpus.dedup.passages.buckets import bucket_bounds
from barrow.corpus.dedup.passages.part_texts import part_texts
from barrow.corpus.dedup.passages.units import unit_hashes
from barrow.corpus.dedup.passages.windows import select_seeds
from barrow.corpus.dedup.settings import Unit
from barrow.corpus.kernels.scratch import Scratch
from barrow.engine import Output, Outputs, Stage


@dataclass(frozen=True)
class Settings:
    """A part: its first document in the file, and its number; the length of a passage, in units."""

    start: int
    offset: int
    min_words: int
    unit: Unit = "word"


@dataclass(frozen=True)
class Inputs:
    """The texts of a part, and the documents that deduplication removed."""

    part: PartFiles
    removals: Removals


class Seeds(Outputs):
    """Seeds, sorted, with the document each is of, and the bounds of their buckets."""

    seeds = Output("seeds.safetensors", temporary=True)
    bounds = Output("bounds.safetensors")


def find_seeds(settings: Settings, inputs: Inputs, out: Seeds) -> None:
    """Keep a seed twice if a document has it more than once, else once."""
    wanted = load_columns(inputs.part.facts, ("kept",))["kept"].copy()
    for _, arrays in inputs.removals:
        numbers = arrays["removed"] - settings.offset
        wanted[numbers[(numbers >= 0) & (numbers < len(wanted))]] = False
    scratch = Scratch()
    values, rows = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for texts in part_texts(inputs.part, settings.start, wanted):
        words = unit_hashes(settings.unit, texts.text, texts.offsets, scratch)
        seeds = select_seeds(words, settings.min_words, scratch)
        values.append(seeds.value.copy())
        rows.append(texts.rows[seeds.document])
    value, row = np.concatenate(values), np.concatenate(rows)
    order = np.lexsort((row, value))
    value, row = value[order], row[order]
    third = np.zeros(len(value), np.bool_)
    third[2:] = (value[2:] == value[:-2]) & (row[2:] == row[:-2])
    value, row = value[~third], row[~third]
    bounds = bucket_bounds(value)
    save_arrays(out.seeds, values=value, rows=row, bounds=bounds)
    save_arrays(out.bounds, bounds=bounds)


SEEDS = Stage("corpus.passage_seeds", 2, find_seeds, Seeds)
