"""Predictions of a fine-tuned model, and their metrics where labels are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from barrow.models.load import load
from barrow.models.onnx.model import OnnxModel
from barrow.models.roberta.head_outputs import head_outputs
from barrow.models.roberta.heads import RegressionHead, RobertaWithHead, TokenHead
from barrow.models.roberta.labelled_rows import Limit, pair_rows, word_rows
from barrow.stream.labelled.examples import Example, Kind
from barrow.train.finetune.metrics import compute_metrics

if TYPE_CHECKING:
    from barrow.models.roberta.labelled_rows import Tokenizer

# Examples whose rows are sorted by length at a time.
_AHEAD = 1024


@dataclass(frozen=True)
class Opened:
    """A model with a classification head, its tokenizer and labels."""

    model: RobertaWithHead | OnnxModel
    params: Mapping[str, Any]
    tokenizer: Tokenizer
    labels: tuple[str, ...]

    @property
    def kind(self) -> Kind:
        """The task of its head."""
        if isinstance(self.model.head, TokenHead):
            return "tag"
        return "regress" if isinstance(self.model.head, RegressionHead) else "classify"


@dataclass
class Tally:
    """Counts rows, and keeps outputs and truth of those that have labels."""

    kind: Kind
    labels: tuple[str, ...]
    num_rows: int = 0
    num_cut: int = 0
    num_judged: int = 0
    _outputs: list[npt.NDArray[np.float32]] = field(default_factory=list)
    _targets: list[npt.NDArray[Any]] = field(default_factory=list)

    def add(self, one: Example, out: npt.NDArray[np.float32], *, is_cut: bool) -> None:
        """One row; truncated words are not evaluated."""
        self.num_rows += 1
        self.num_cut += is_cut
        if one.label is None:
            return
        self.num_judged += 1
        self._outputs.append(out)
        self._targets.append(
            self._target(one)[: len(out)] if self.kind == "tag" else self._target(one)
        )

    def metrics(self) -> dict[str, float]:
        """All metrics of the task, over the rows that have labels."""
        return compute_metrics(self.kind, self._outputs, self._targets, self.labels)

    def _target(self, one: Example) -> npt.NDArray[Any]:
        if isinstance(one.label, float):
            return np.array(one.label)
        names = one.label if isinstance(one.label, tuple) else (str(one.label),)
        for name in names:
            if name not in self.labels:
                raise ValueError(
                    f"{one.place}: the label {name!r} is not among the model's: "
                    f"{', '.join(self.labels[:12])}; to read no labels pass an empty "
                    "--label-key"
                )
        numbers = np.array([self.labels.index(name) for name in names])
        return numbers if isinstance(one.label, tuple) else numbers[0]


def open_finetuned(folder: str | Path) -> Opened:
    """A Hugging Face folder of RoBERTa with a classification head, or its exported graph."""
    loaded = load(folder, dtype="float32", unstack=True)
    model: Any = loaded.model
    if not isinstance(model, RobertaWithHead) and getattr(model, "head", None) is None:
        raise ValueError(f"{folder} has no classification head: train one with barrow finetune")
    if isinstance(model.head, RegressionHead) and model.head.num != 1:
        raise ValueError(f"the head of {folder} must have one output, got {model.head.num}")
    tokenizer = loaded.words.open()
    return Opened(model, loaded.params, tokenizer, loaded.labels)


def predictions(
    opened: Opened,
    examples: Iterable[Example],
    *,
    limit: Limit | None = None,
    tally: Tally | None = None,
) -> Iterator[tuple[Example, dict[str, Any]]]:
    """Each example with its prediction, in order.

    classify: `label`, its probability `score`, and `scores` of all labels. tag: `tags` of the
    words (None for those that were truncated) and their `scores`. regress: `value`.
    """
    coming = iter(examples)
    while window := list(islice(coming, _AHEAD)):
        for one, out, num_cut in _outputs(opened, window, limit):
            if tally is not None:
                tally.add(one, out, is_cut=num_cut > 0)
            yield one, _prediction(opened, one, out)


def _outputs(
    opened: Opened, window: list[Example], limit: Limit | None
) -> Iterator[tuple[Example, npt.NDArray[np.float32], int]]:
    around: dict[str, Any] = {
        "config": opened.model.config,
        "places": [one.place for one in window],
        "limit": limit,
    }
    if opened.kind != "tag":
        rows = pair_rows(
            opened.tokenizer, [one.text for one in window], [one.pair for one in window], **around
        )
        found = head_outputs(opened.model, opened.params, [row.tokens for row in rows])
        for one, row, out in zip(window, rows, found, strict=True):
            yield one, out, row.num_cut
        return
    words = word_rows(opened.tokenizer, [one.words for one in window], **around)
    found = head_outputs(opened.model, opened.params, [row.tokens for row in words])
    for one, given, out in zip(window, words, found, strict=True):
        yield one, out[given.first], given.num_cut


def _prediction(opened: Opened, one: Example, out: npt.NDArray[np.float32]) -> dict[str, Any]:
    if opened.kind == "regress":
        return {"value": float(out)}
    shares = _softmax(out.astype(np.float64))
    if opened.kind == "tag":
        best = shares.argmax(axis=-1)
        missing = [None] * (len(one.words) - len(best))
        scores = [float(row[i]) for row, i in zip(shares, best, strict=True)]
        return {
            "tags": [*(opened.labels[i] for i in best), *missing],
            "scores": [*scores, *missing],
        }
    number = int(shares.argmax())
    return {
        "label": opened.labels[number],
        "score": float(shares[number]),
        "scores": dict(zip(opened.labels, map(float, shares), strict=True)),
    }


def _softmax(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: npt.NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return shares
