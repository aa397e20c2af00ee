"""Which seeds are repeated somewhere, in some buckets of the seeds of all parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.corpus.dedup.numbering import save_arrays
from barrow.corpus.dedup.passages.buckets import load_buckets
from barrow.corpus.dedup.passages.owners import repeated
from barrow.engine import File, Output, Outputs, Stage


@dataclass(frozen=True)
class Settings:
    """A range of buckets."""

    buckets: tuple[int, int]


class Repeated(Outputs):
    """Indices of seeds, part after part; `bounds` says where each part begins."""

    found = Output("found.safetensors", temporary=True)


def find_repeated(settings: Settings, seeds: tuple[File, ...], out: Repeated) -> None:
    """Compare the seeds of all parts."""
    loaded = [load_buckets(file, settings.buckets, ("values",)) for file in seeds]
    values = [arrays["values"] for _, arrays in loaded]
    flags = repeated(np.concatenate(values))
    ends = np.cumsum([0, *map(len, values)])
    found = [
        np.flatnonzero(flags[ends[k] : ends[k + 1]]) + start for k, (start, _) in enumerate(loaded)
    ]
    save_arrays(
        out.found,
        found=np.concatenate(found),
        bounds=np.cumsum([0, *map(len, found)], dtype=np.int64),
    )


REPEATED = Stage("corpus.passage_repeated", 1, find_repeated, Repeated)
