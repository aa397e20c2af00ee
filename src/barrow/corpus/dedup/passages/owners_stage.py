"""The windows of each part, in some buckets, whose owner is in another part, and its id."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.corpus.dedup.numbering import Order, Parts, save_arrays
from barrow.corpus.dedup.passages.buckets import load_buckets
from barrow.corpus.dedup.passages.owners import group_windows
from barrow.corpus.dedup.settings import Keep
from barrow.engine import File, Output, Outputs, Stage


@dataclass(frozen=True)
class Settings:
    """A range of buckets, and the order of preference; of equal windows, `keep` one or none."""

    buckets: tuple[int, int]
    order: Order
    keep: Keep = "one"


@dataclass(frozen=True)
class Inputs:
    """Facts and windows of all parts."""

    facts: tuple[File, ...]
    windows: tuple[File, ...]


class Owners(Outputs):
    """Indices of windows to cut, part after part; `bounds` says where each part begins."""

    lost = Output("lost.safetensors")


def find_owners(settings: Settings, inputs: Inputs, out: Owners) -> None:
    """Decide which document keeps each window that parts share."""
    parts = Parts(inputs.facts, settings.order)
    names = ("first", "second", "rows")
    loaded = [load_buckets(file, settings.buckets, names) for file in inputs.windows]
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
    if settings.keep == "none":
        lost[owner[lost]] = True
    place = np.concatenate([np.arange(len(a["rows"])) + start for start, a in loaded])
    ends = np.cumsum([0, *(len(arrays["rows"]) for _, arrays in loaded)])
    save_arrays(
        out.lost,
        lost=place[lost],
        of_identity=parts.identities(number[owner[lost]]),
        bounds=np.r_[0, np.cumsum(lost)][ends].astype(np.int64),
    )


OWNERS = Stage("corpus.passage_owners", 1, find_owners, Owners)
