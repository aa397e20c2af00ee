"""Labelled examples as rows of tokens and targets, and batches of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from barrow.errors import ConfigError
from barrow.models.labelled_rows import pair_rows, word_rows
from barrow.models.roberta import RobertaConfig
from barrow.models.rows import padded
from barrow.stream.labelled import Example, Kind, class_names, parted, read_examples
from barrow.train.finetune_run import FinetuneRun

if TYPE_CHECKING:
    from barrow.models.labelled_rows import Tokenizer
    from barrow.models.rows import Tokens


@dataclass(frozen=True)
class LabelledData:
    """Rows of tokens with what is to be said of them.

    `targets` are a class or a number for each row; of tags one for each word that was not cut, and
    `first` are the places of these words' first tokens, which alone are learned and judged.
    `num_cut` rows were truncated.
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

        Rows are filled up to `num_rows` by such of mask 0.
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
    """What a run learns from and is judged by, and the names of classes (none of a regression)."""

    train: LabelledData
    validation: LabelledData
    labels: tuple[str, ...]


def labelled_data(run: FinetuneRun, tokenizer: Tokenizer, config: RobertaConfig) -> Labelled:
    """The data of a run."""
    examples = list(read_examples(run.data, run.task, keys=run.read_keys))
    if not examples:
        raise ConfigError(f"{run.data} has no examples")
    if isinstance(run.validation, str):
        train, held = examples, list(read_examples(run.validation, run.task, keys=run.read_keys))
        if not held:
            raise ConfigError(f"{run.validation} has no examples")
    else:
        train, held = parted(examples, run.validation, seed=run.seed)
    if not train or not held:
        what = "validation" if train else "training"
        raise ConfigError(
            f"nothing is left for {what} of {len(examples)} examples: more of them, another share, "
            "or a file of its own (--validation)"
        )
    labels = () if run.task == "regress" else _labels(run, examples, train)
    number = {name: i for i, name in enumerate(labels)}
    return Labelled(
        encode_examples(train, run, tokenizer, config, number),
        encode_examples(held, run, tokenizer, config, number),
        labels,
    )


def encode_examples(
    examples: Sequence[Example],
    run: FinetuneRun,
    tokenizer: Tokenizer,
    config: RobertaConfig,
    number: Mapping[str, int],
) -> LabelledData:
    """Rows and targets of examples; `number` numbers the classes."""
    places = tuple(one.place for one in examples)
    around: dict[str, Any] = {"config": config, "places": places, "limit": run.limit}
    if run.task != "tag":
        found = pair_rows(
            tokenizer, [one.text for one in examples], [one.pair for one in examples], **around
        )
        return LabelledData(
            run.task,
            tuple(row.tokens for row in found),
            tuple(_target(one, number) for one in examples),
            places,
            num_cut=sum(row.num_cut > 0 for row in found),
        )
    words = word_rows(tokenizer, [one.words for one in examples], **around)
    return LabelledData(
        run.task,
        tuple(row.tokens for row in words),
        tuple(
            _target(one, number)[: len(row.first)] for one, row in zip(examples, words, strict=True)
        ),
        places,
        tuple(row.first for row in words),
        sum(row.num_cut > 0 for row in words),
    )


def _labels(
    run: FinetuneRun, examples: Sequence[Example], train: Sequence[Example]
) -> tuple[str, ...]:
    seen = class_names(name for one in train for name in _names(one))
    if len(seen) < 2:
        raise ConfigError(
            f"{run.data}: all examples to learn from have the label {seen[0]!r}; there is nothing "
            "to tell apart"
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
                f"{one.place}: the label {name!r} is not among those learned from: {known}"
            )
    numbers = np.array([number[name] for name in _names(one)], np.int32)
    return numbers if isinstance(one.label, tuple) else numbers[0]
