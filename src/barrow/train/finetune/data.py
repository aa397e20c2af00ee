"""Labelled examples as rows of tokens and targets, and batches of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from barrow.errors import ConfigError
from barrow.files import write_bytes
from barrow.models.roberta.labelled_rows import pair_rows, word_rows
from barrow.models.roberta.model import RobertaConfig
from barrow.models.rows import padded
from barrow.stream.labelled.examples import Example, Kind, class_names, read_examples, split
from barrow.stream.labelled.length_batches import LengthBatches
from barrow.train.finetune.settings import LabelledRows
from barrow.train.tasks.own_data import placed

if TYPE_CHECKING:
    from jax.sharding import Sharding

    from barrow.models.roberta.labelled_rows import Tokenizer
    from barrow.models.rows import Tokens


@dataclass(frozen=True)
class LabelledData:
    """Rows of tokens with their targets.

    `targets` are a class or a number per row. For tags they are one per word that was not
    truncated, and `first` are the positions of these words' first tokens: only those are trained
    and evaluated. `num_cut` rows were truncated.
    """

    kind: Kind
    rows: tuple[Tokens, ...]
    targets: tuple[npt.NDArray[Any], ...]
    places: tuple[str, ...]
    first: tuple[npt.NDArray[np.int64], ...] = ()
    num_cut: int = 0

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all tokens and targets."""
        digest = hashlib.blake2b(digest_size=16)
        for number, (row, target) in enumerate(zip(self.rows, self.targets, strict=True)):
            parts = [row, target, *self.first[number : number + 1]]
            digest.update(str([part.shape for part in parts]).encode())
            for part in parts:
                digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def batch(
        self, which: Sequence[int] | npt.NDArray[np.int64], num_rows: int, config: RobertaConfig
    ) -> dict[str, npt.NDArray[Any]]:
        """Tokens [rows, length], lengths [rows], targets and mask ([rows], of tags [rows, length]).

        Rows are padded to `num_rows` with rows of mask 0.
        """
        tokens, lengths = padded([self.rows[i] for i in which], config=config, num_rows=num_rows)
        shape = tokens.shape if self.kind == "tag" else (num_rows,)
        targets = np.zeros(shape, np.float32 if self.kind == "regress" else np.int32)
        mask = np.zeros(shape, np.float32)
        for row, i in enumerate(which):
            at = (row, self.first[i]) if self.kind == "tag" else (row,)
            targets[at] = self.targets[i]
            mask[at] = 1.0
        return {"tokens": tokens, "lengths": lengths, "targets": targets, "mask": mask}


@dataclass(frozen=True)
class Labelled:
    """Training and validation rows, and the names of classes (none for regression)."""

    train: LabelledData
    validation: LabelledData
    labels: tuple[str, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """Tokens of each training row."""
        return tuple(map(len, self.train.rows))


@dataclass(frozen=True)
class LabelledStream:
    """The training rows, in order: the `Data` of a run.

    `parts` is the number of micro-batches. Rows are padded to a multiple of it and of the devices.
    """

    rows: Labelled
    order: LengthBatches
    config: RobertaConfig
    epochs: int
    parts: int = 1

    @property
    def num_steps(self) -> int:
        """Steps of all epochs."""
        return self.epochs * self.order.per_epoch

    @property
    def identity(self) -> str:
        """A hash of training and validation rows."""
        return f"{self.rows.train.fingerprint}-{self.rows.validation.fingerprint}"

    def place(self, step: int, sharding: Sharding) -> dict[str, Any]:
        """The batch of a step on the devices."""
        parts = len(sharding.device_set) * self.parts
        num_rows = -(-self.order.batch // parts) * parts
        found = self.rows.train.batch(self.order(step), num_rows, self.config)
        return placed(found, sharding)

    def describe(self, step: int) -> list[str]:
        """Where the rows of a step are."""
        return [self.rows.train.places[i] for i in self.order(step)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the hash of the data."""
        table = {"format": "barrow-labelled", "identity": self.identity}
        write_bytes(Path(path), json.dumps(table).encode())

    def check(self, path: str | os.PathLike[str]) -> None:
        """Raise unless the data are those the run started with."""
        if json.loads(Path(path).read_bytes())["identity"] != self.identity:
            raise ConfigError(f"{path}: the data or the tokenizer differ from those of this run")

    def about(self) -> dict[str, Any]:
        """The labels."""
        return {"labels": list(self.rows.labels)}

    def baseline(self) -> str:
        """There is none."""
        return ""


def labelled_data(rows: LabelledRows, tokenizer: Tokenizer, config: RobertaConfig) -> Labelled:
    """The data of a run."""
    examples = list(read_examples(rows.path, rows.kind, keys=rows.read_keys))
    if not examples:
        raise ConfigError(f"{rows.path} has no examples")
    if isinstance(rows.validation, str):
        train, held = examples, list(read_examples(rows.validation, rows.kind, keys=rows.read_keys))
        if not held:
            raise ConfigError(f"{rows.validation} has no examples")
    else:
        train, held = split(examples, rows.validation, seed=rows.seed)
    if not train or not held:
        what = "validation" if train else "training"
        raise ConfigError(
            f"no examples are left for {what} out of {len(examples)}: use more, another "
            "share, or a separate file (--validation)"
        )
    labels = () if rows.kind == "regress" else _labels(rows, examples, train)
    number = {name: i for i, name in enumerate(labels)}
    return Labelled(
        encode_examples(train, rows, tokenizer, config, number),
        encode_examples(held, rows, tokenizer, config, number),
        labels,
    )


def encode_examples(
    examples: Sequence[Example],
    rows: LabelledRows,
    tokenizer: Tokenizer,
    config: RobertaConfig,
    number: Mapping[str, int],
) -> LabelledData:
    """Rows and targets of examples; `number` numbers the classes."""
    places = tuple(one.place for one in examples)
    around: dict[str, Any] = {"config": config, "places": places, "limit": rows.limit}
    if rows.kind != "tag":
        found = pair_rows(
            tokenizer, [one.text for one in examples], [one.pair for one in examples], **around
        )
        return LabelledData(
            rows.kind,
            tuple(row.tokens for row in found),
            tuple(_target(one, number) for one in examples),
            places,
            num_cut=sum(row.num_cut > 0 for row in found),
        )
    words = word_rows(tokenizer, [one.words for one in examples], **around)
    return LabelledData(
        rows.kind,
        tuple(row.tokens for row in words),
        tuple(
            _target(one, number)[: len(row.first)] for one, row in zip(examples, words, strict=True)
        ),
        places,
        tuple(row.first for row in words),
        sum(row.num_cut > 0 for row in words),
    )


def _labels(
    rows: LabelledRows, examples: Sequence[Example], train: Sequence[Example]
) -> tuple[str, ...]:
    seen = class_names(name for one in train for name in _names(one))
    if len(seen) < 2:
        raise ConfigError(
            f"{rows.path}: all training examples have the label {seen[0]!r}; at least two "
            "are needed"
        )
    return class_names(name for one in examples for name in _names(one))


def _names(one: Example) -> tuple[str, ...]:
    return one.label if isinstance(one.label, tuple) else (str(one.label),)


def _target(one: Example, number: Mapping[str, int]) -> npt.NDArray[Any]:
    if isinstance(one.label, float):
        return np.array(one.label, np.float32)
    for name in _names(one):
        if name not in number:
            known = ", ".join(list(number)[:12]) + ("…" if len(number) > 12 else "")
            raise ValueError(
                f"{one.place}: the label {name!r} is not in the training data: {known}"
            )
    numbers = np.array([number[name] for name in _names(one)], np.int32)
    return numbers if isinstance(one.label, tuple) else numbers[0]
