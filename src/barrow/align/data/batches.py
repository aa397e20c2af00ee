"""Batches of rows as a function of seed and step: the `Data` of a run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from barrow.align.data.rows import Row
from barrow.errors import ConfigError
from barrow.files import write_bytes
from barrow.models.buckets import bucket
from barrow.stream.order.permutation import Permutation, derive
from barrow.stream.rows.packing import best_fit, one_by_one
from barrow.train.tasks.own_data import placed

if TYPE_CHECKING:
    from jax.sharding import Sharding

FORMAT = "barrow-align"
Arrays = dict[str, npt.NDArray[Any]]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Order:
    """Which of `num` items are in the batch of a step: all of them in each epoch, in another order.

    Batches are always full: one may end an epoch and begin the next.
    """

    num: int
    batch: int
    seed: int

    def __call__(self, step: int) -> Numbers:
        """The items of a step."""
        places = step * self.batch + np.arange(self.batch)
        found = np.empty(self.batch, np.int64)
        for epoch in np.unique(places // self.num).tolist():
            here = places // self.num == epoch
            order = Permutation(self.num, derive(self.seed, "rows", epoch))
            found[here] = order(places[here] % self.num)
        return found

    def steps(self, epochs: float) -> int:
        """Steps of so many epochs."""
        return max(1, -(-int(epochs * self.num) // self.batch))


# (items of a step, rows to fill up to, whether it is the first step) → arrays
Collate = Callable[[Numbers, int, bool], Arrays]


@dataclass(frozen=True, eq=False)
class AlignData:
    """Items and their order, as training reads them. `places` names the records of each item.

    `parts` is the number of micro-batches: rows are filled up to a multiple of it and the devices.
    """

    order: Order
    collate: Collate
    places: Sequence[Sequence[str]]
    identity: str
    words: Mapping[str, Any] = field(default_factory=dict)
    parts: int = 1
    num_steps: int | None = None

    def place(self, step: int, sharding: Sharding) -> dict[str, Any]:
        """The batch of a step on the devices."""
        parts = len(sharding.device_set) * self.parts
        rows = -(-self.order.batch // parts) * parts
        return placed(self.collate(self.order(step), rows, step == 0), sharding)

    def describe(self, step: int) -> list[str]:
        """The records of a step."""
        return [place for item in self.order(step) for place in self.places[item]]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the hash of the data."""
        write_bytes(Path(path), json.dumps({"format": FORMAT, "identity": self.identity}).encode())

    def check(self, path: str | os.PathLike[str]) -> None:
        """Raise unless the data are those the run started with."""
        if json.loads(Path(path).read_bytes())["identity"] != self.identity:
            raise ConfigError(
                f"{path}: the data, the tokenizer or the chat template are not those of this run; "
                "to resume a run of an earlier version on plain prompts, pass data.begin=always"
            )

    def about(self) -> dict[str, Any]:
        """The tokenizer and the chat template."""
        return dict(self.words)

    def baseline(self) -> str:
        """There is none."""
        return ""


def fingerprint(rows: Sequence[Row], *more: Any) -> str:
    """A hash of all tokens and masks."""
    digest = hashlib.blake2b(json.dumps(more).encode(), digest_size=16)
    for row in rows:
        digest.update(len(row.ids).to_bytes(4, "little"))
        digest.update(row.ids.tobytes())
        digest.update(row.is_answer.tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Chats in rows of `length`: several in one, masked from each other, or each by itself."""

    rows: Sequence[Row]
    length: int
    packed: bool

    @cached_property
    def packing(self) -> Any:
        """Which chats are in which row; a chat of n tokens takes n − 1 places."""
        starts = np.concatenate([[0], np.cumsum([len(row.ids) - 1 for row in self.rows])])
        return (best_fit if self.packed else one_by_one)(starts, self.length)

    @cached_property
    def places(self) -> list[list[str]]:
        """The records of each row."""
        found, offsets = self.packing.document, self.packing.offsets
        return [
            [self.rows[chat].place for chat in found[offsets[r] : offsets[r + 1]]]
            for r in range(self.packing.num_rows)
        ]

    def __call__(self, items: Numbers, num: int, is_first: bool = False) -> Arrays:
        """Tokens, targets, mask, segments and positions [rows, length]."""
        del is_first
        names = ("tokens", "targets", "mask", "segments", "positions")
        out: Arrays = {name: np.zeros((num, self.length), np.int32) for name in names}
        for line, item in enumerate(items):
            at = 0
            first, last = self.packing.offsets[item : item + 2]
            for segment, chat in enumerate(self.packing.document[first:last], 1):
                row = self.rows[chat]
                here = (line, slice(at, at + len(row.ids) - 1))
                out["tokens"][here], out["targets"][here] = row.ids[:-1], row.ids[1:]
                out["mask"][here] = row.is_answer[1:]
                out["segments"][here] = segment
                out["positions"][here] = np.arange(len(row.ids) - 1)
                at += len(row.ids) - 1
        return out


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Two rows for each item, [items, 2, length]; with kto, answers and those of other prompts.

    `good` are labels of single answers; then the two rows of an item are the same. The length is
    that of a batch's longest, in steps; of the first batch that of all: memory fails there or
    never.
    """

    rows: Sequence[tuple[Row, Row]]
    length: int
    good: Sequence[bool] | None = None

    @cached_property
    def longest(self) -> int:
        """Tokens of the longest row that a batch can have."""
        rows = [row for both in self.rows for row in both]
        if self.good is None:
            return max(len(row.ids) for row in rows) - 1
        begins = [int(np.argmax(row.is_answer)) for row in rows]
        ends = [len(row.ids) - at for row, at in zip(rows, begins, strict=True)]
        return min(max(begins) + max(ends) - 1, self.length)

    def __call__(self, items: Numbers, num: int, is_first: bool = False) -> Arrays:
        """Tokens, targets and mask; lengths [items, 2]; real and good [items]."""
        pairs = [self.rows[item] for item in items]
        if self.good is not None:
            pairs = [
                (one, _exchanged(one, pairs[(at + 1) % len(pairs)][0], self.length))
                for at, (one, _) in enumerate(pairs)
            ]
        longest = max(len(row.ids) - 1 for both in pairs for row in both)
        longest = bucket(self.longest if is_first else longest, self.length)
        shape = (num, 2, longest)
        out: Arrays = {name: np.zeros(shape, np.int32) for name in ("tokens", "targets", "mask")}
        # The rewards of whole texts read their last token too.
        out["whole"] = np.zeros((num, 2, longest + 1), np.int32)
        out["lengths"] = np.ones((num, 2), np.int32)
        out["real"] = (np.arange(num) < len(items)).astype(np.int32)
        for line, both in enumerate(pairs):
            for side, row in enumerate(both):
                here = (line, side, slice(0, len(row.ids) - 1))
                out["tokens"][here], out["targets"][here] = row.ids[:-1], row.ids[1:]
                out["mask"][here] = row.is_answer[1:]
                out["whole"][line, side, : len(row.ids)] = row.ids
                out["lengths"][line, side] = len(row.ids)
        if self.good is not None:
            out["good"] = np.zeros(num, np.int32)
            out["good"][: len(items)] = [self.good[item] for item in items]
        return out


def _exchanged(row: Row, other: Row, length: int) -> Row:
    """The prompt of a row, then the answer of another."""
    kept = row.ids[: int(np.argmax(row.is_answer))]
    answer = other.ids[int(np.argmax(other.is_answer)) :]
    ids = np.concatenate([kept, answer])[: length + 1]
    return Row(ids, np.arange(len(ids)) >= len(kept), row.place)
