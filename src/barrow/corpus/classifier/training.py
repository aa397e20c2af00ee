"""Training a quality classifier: logistic regression by stochastic gradient descent (AdaGrad).

Everything depends on the documents and a seed: which are taken, which are for testing, and the
order of training. Of documents with the same words one is taken, and the same words are always on
the same side of the split, so that no test example was trained on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barrow.corpus.classifier.model import ClassifierSettings, looked_at, pair_hash
from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.jit import compiled
from barrow.corpus.kernels.word_hashes import Hashes, Offsets, finish_hash
from barrow.errors import ConfigError

_TEST_SALT = np.uint64(0x68656C64)
_MANY = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True)
class TrainingSettings:
    """How a classifier is trained.

    At most `max_documents` of each side are taken; a share of `test_share` is for testing.
    """

    classifier: ClassifierSettings = field(default_factory=ClassifierSettings)
    max_documents: int = 100_000
    test_share: float = 0.1
    epochs: int = 5
    learning_rate: float = 0.1
    seed: int = 42

    def __post_init__(self) -> None:
        if not 0 < self.test_share < 1:
            raise ConfigError(f"test_share must be between 0 and 1, got {self.test_share}")
        if min(self.max_documents, self.epochs) < 1 or self.learning_rate <= 0:
            raise ConfigError("max_documents, epochs and learning_rate must be > 0")


class Examples(NamedTuple):
    """Documents as features: those of i are ``features[offsets[i]:offsets[i + 1]]``, sorted by
    `keys`, which are hashes of the words.
    """

    keys: Hashes
    features: npt.NDArray[np.uint32]
    offsets: Offsets

    def __len__(self) -> int:
        return len(self.keys)

    def chosen(self, where: npt.NDArray[np.int64]) -> Examples:
        """Some of them, in a given order."""
        sizes = np.diff(self.offsets)[where]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        places = np.repeat(self.offsets[:-1][where] - offsets[:-1], sizes)
        return Examples(self.keys[where], self.features[places + np.arange(offsets[-1])], offsets)


class Trained(NamedTuple):
    """Weights and bias, and the scores of the test examples."""

    weights: npt.NDArray[np.float32]
    bias: float
    num_positives: int
    num_negatives: int
    test_positives: npt.NDArray[np.float64]
    test_negatives: npt.NDArray[np.float64]


def read_examples(parts: Iterable[Texts], settings: TrainingSettings) -> Examples:
    """Examples from documents: those whose keys are lowest, where there are too many.

    Documents too short for the classifier are left out.
    """
    held = Examples(np.empty(0, np.uint64), np.empty(0, np.uint32), np.zeros(1, np.int64))
    waiting: list[Examples] = []
    num_waiting = 0
    for texts in parts:
        waiting.append(_examples(texts, settings))
        num_waiting += len(waiting[-1])
        if num_waiting > settings.max_documents:
            held, waiting, num_waiting = _lowest([held, *waiting], settings.max_documents), [], 0
    return _lowest([held, *waiting], settings.max_documents)


def train(positives: Examples, negatives: Examples, settings: TrainingSettings) -> Trained:
    """Train on positives and negatives; both sides have the same total weight."""
    learnt_positives, tested_positives = _split(positives, settings, "positives")
    learnt_negatives, tested_negatives = _split(negatives, settings, "negatives")
    both = [learnt_positives, learnt_negatives]
    examples = _joined(both)
    labels = np.repeat(np.array([1.0, 0.0], np.float32), [len(side) for side in both])
    importance = np.repeat([len(examples) / 2 / len(side) for side in both], list(map(len, both)))
    weights = np.zeros(1 << settings.classifier.table_bits, np.float32)
    squares = np.full(len(weights) + 1, 1e-6, np.float32)
    bias = 0.0
    for epoch in range(settings.epochs):
        order = np.argsort(_mixed(examples.keys, settings.seed + epoch), kind="stable")
        bias = _learn(
            examples.features,
            examples.offsets,
            order,
            labels,
            importance,
            settings.learning_rate,
            weights,
            squares,
            bias,
        )
    return Trained(
        weights,
        bias,
        len(learnt_positives),
        len(learnt_negatives),
        _scores(tested_positives, weights, bias),
        _scores(tested_negatives, weights, bias),
    )


def area_under_curve(
    positives: npt.NDArray[np.float64], negatives: npt.NDArray[np.float64]
) -> float:
    """How often a positive scores higher than a negative; a tie counts half."""
    ordered = np.sort(negatives)
    below = np.searchsorted(ordered, positives, side="left")
    not_above = np.searchsorted(ordered, positives, side="right")
    return float((below + not_above).sum() / 2 / len(positives) / len(negatives))


def _scores(
    examples: Examples, weights: npt.NDArray[np.float32], bias: float
) -> npt.NDArray[np.float64]:
    logits = _all_logits(examples.features, examples.offsets, weights, bias)
    return 1.0 / (1.0 + np.exp(-logits))


def _examples(texts: Texts, settings: TrainingSettings) -> Examples:
    words = looked_at(texts, settings.classifier)
    sizes = np.where(words.enough, 2 * np.diff(words.offsets) - 1, 0)
    kept = np.flatnonzero(sizes > 0)
    offsets = np.concatenate(([0], np.cumsum(sizes[kept])))
    features = np.empty(offsets[-1], np.uint32)
    keys = np.empty(len(kept), np.uint64)
    shift = np.uint64(64 - settings.classifier.table_bits)
    _fill_features(words.hashes, words.offsets, kept, shift, features, keys)
    return Examples(_mixed(keys, settings.seed), features, offsets)


def _joined(parts: list[Examples]) -> Examples:
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    return Examples(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.features for part in parts]),
        np.concatenate(([0], np.cumsum(sizes))),
    )


def _lowest(parts: list[Examples], number: int) -> Examples:
    together = _joined(parts)
    _, first = np.unique(together.keys, return_index=True)
    return together.chosen(first[:number])


def _split(examples: Examples, settings: TrainingSettings, side: str) -> tuple[Examples, Examples]:
    limit = np.uint64(settings.test_share * float(_MANY))
    tested = _mixed(examples.keys, int(_TEST_SALT)) < limit
    if not tested.any() or tested.all():
        raise ConfigError(
            f"{len(examples)} usable {side} are too few to split for training and testing; "
            f"a text needs more than {settings.classifier.min_characters} characters"
        )
    return examples.chosen(np.flatnonzero(~tested)), examples.chosen(np.flatnonzero(tested))


@compiled
def _mixed(keys: Hashes, seed: int) -> Hashes:
    mixed = np.empty_like(keys)
    for i in range(len(keys)):
        mixed[i] = pair_hash(keys[i], np.uint64(seed))
    return mixed


@compiled
def _fill_features(
    hashes: Hashes,
    offsets: Offsets,
    kept: npt.NDArray[np.int64],
    shift: np.uint64,
    features: npt.NDArray[np.uint32],
    keys: Hashes,
) -> None:
    place = np.uint64(0)
    one = np.uint64(1)
    for k in range(len(kept)):
        key = np.uint64(0)
        for i in range(offsets[kept[k]], offsets[kept[k] + 1]):
            at = np.uint64(i)
            key = finish_hash(key ^ hashes[at])
            features[place] = hashes[at] >> shift
            place += one
            if i > offsets[kept[k]]:
                features[place] = pair_hash(hashes[at - one], hashes[at]) >> shift
                place += one
        keys[k] = key


@compiled
def _logit(
    features: npt.NDArray[np.uint32],
    first: int,
    end: int,
    weights: npt.NDArray[np.float32],
    bias: float,
) -> float:
    total = 0.0
    for i in range(np.uint64(first), np.uint64(end)):
        total += weights[features[np.uint64(i)]]
    return float(bias + total / np.sqrt(float(end - first)))


@compiled
def _learn(
    features: npt.NDArray[np.uint32],
    offsets: Offsets,
    order: npt.NDArray[np.int64],
    labels: npt.NDArray[np.float32],
    importance: npt.NDArray[np.float64],
    learning_rate: float,
    weights: npt.NDArray[np.float32],
    squares: npt.NDArray[np.float32],
    bias: float,
) -> float:
    """One pass over the examples; `squares` are sums of squared gradients, the last of the bias."""
    for k in range(len(order)):
        document = order[k]
        first, end = offsets[document], offsets[document + 1]
        share = 1.0 / (1.0 + np.exp(-_logit(features, first, end, weights, bias)))
        slope = (share - labels[document]) * importance[document]
        squares[len(weights)] += slope * slope
        bias -= learning_rate * slope / np.sqrt(squares[len(weights)])
        step = slope / np.sqrt(float(end - first))
        for i in range(np.uint64(first), np.uint64(end)):
            place = features[np.uint64(i)]
            squares[place] += step * step
            weights[place] -= learning_rate * step / np.sqrt(squares[place])
    return bias


@compiled
def _all_logits(
    features: npt.NDArray[np.uint32],
    offsets: Offsets,
    weights: npt.NDArray[np.float32],
    bias: float,
) -> npt.NDArray[np.float64]:
    logits = np.empty(len(offsets) - 1, np.float64)
    for document in range(len(logits)):
        first, end = offsets[document], offsets[document + 1]
        logits[document] = _logit(features, first, end, weights, bias)
    return logits
