"""Classes out of their names: prompt ensembling, and the classes of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ZeroShot:
    """Similarities (scale times cosine) and probabilities, [images, classes], of named classes."""

    classes: tuple[str, ...]
    similarities: Floats
    probabilities: Floats

    def top(self, image: int, num: int = 5) -> list[tuple[str, float, float]]:
        """The likeliest classes of an image: name, probability, similarity."""
        order = np.argsort(-self.probabilities[image], kind="stable")[:num]
        return [
            (
                self.classes[i],
                float(self.probabilities[image, i]),
                float(self.similarities[image, i]),
            )
            for i in order.tolist()
        ]

    def accuracy(self, truth: Sequence[str]) -> float:
        """The share of images whose likeliest class is the true one."""
        guessed = [self.classes[i] for i in self.probabilities.argmax(axis=1).tolist()]
        return float(np.mean([a == b for a, b in zip(guessed, truth, strict=True)]))


def unit(x: Floats) -> Floats:
    """Vectors of length 1; zeros stay zeros."""
    lengths = np.linalg.norm(x.astype(np.float64), axis=-1, keepdims=True)
    return np.asarray(x / np.maximum(lengths, 1e-12), np.float32)


def ensemble(
    encode: Callable[[Sequence[str]], Floats], classes: Sequence[str], templates: Sequence[str]
) -> Floats:
    """A unit vector [classes, embed] for each class.

    The name is put into each template, each embedding is normalised, their mean is taken and
    normalised again.
    """
    _refuse(classes, templates)
    texts = [template.replace("{}", name) for name in classes for template in templates]
    embeddings = unit(encode(texts)).reshape(len(classes), len(templates), -1)
    return unit(embeddings.astype(np.float64).mean(axis=1))


def classified(similarities: Floats, classes: Sequence[str]) -> ZeroShot:
    """Probabilities by softmax over the classes."""
    scores = similarities.astype(np.float64)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    probabilities = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return ZeroShot(tuple(classes), np.asarray(similarities, np.float32), probabilities)


def _refuse(classes: Sequence[str], templates: Sequence[str]) -> None:
    if isinstance(classes, str) or not classes or not all(classes):
        raise ValueError(f"expected a list of class names, got {classes!r}")
    if len(set(classes)) != len(classes):
        twice = next(name for name in classes if list(classes).count(name) > 1)
        raise ValueError(f"duplicate class {twice!r}")
    if isinstance(templates, str) or not templates:
        raise ValueError(f"expected a list of templates, got {templates!r}")
    for template in templates:
        if "{}" not in template:
            raise ValueError(f"a template needs {{}} for the name, got {template!r}")
