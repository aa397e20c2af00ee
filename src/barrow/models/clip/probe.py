"""A linear probe: logistic regression on frozen embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.models.clip.zero_shot import Floats

# Quarter-decade steps as in CLIP's paper, from strong to weak regularisation.
STRENGTHS = tuple(10.0 ** (exponent / 4) for exponent in range(-16, 17, 2))
Labels = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Probe:
    """Scores x·weight + bias of each class; `strength` is C, the weight of the data.

    Of all weights it has the least C·Σ cross-entropy + ½‖weight‖²; the bias is free. That is what
    scikit-learn's LogisticRegression(C=strength) minimises.
    """

    weight: Floats
    bias: Floats
    strength: float
    num_steps: int

    def scores(self, features: Floats) -> Floats:
        """[n, classes]."""
        return np.asarray(features @ self.weight + self.bias, np.float32)

    def predict(self, features: Floats) -> npt.NDArray[np.int64]:
        """The likeliest class of each row."""
        found: npt.NDArray[np.int64] = np.argmax(self.scores(features), axis=1)
        return found

    def accuracy(self, features: Floats, labels: Labels) -> float:
        """The share of rows whose likeliest class is theirs."""
        return float(np.mean(self.predict(features) == labels))


def fit_probe(
    features: Floats,
    labels: Labels,
    *,
    num_classes: int,
    strength: float = 1.0,
    max_steps: int = 1000,
    tolerance: float = 1e-5,
) -> Probe:
    """The probe of one strength, by L-BFGS until no derivative, per row, exceeds `tolerance`."""
    _refuse(features, labels, num_classes)
    if not strength > 0:
        raise ValueError(f"strength must be > 0, got {strength}")
    x, y = jnp.asarray(features, jnp.float32), jnp.asarray(labels, jnp.int32)
    begin = (jnp.zeros((x.shape[1], num_classes)), jnp.zeros((num_classes,)))
    numbers = jnp.float32(strength), jnp.int32(max_steps), jnp.float32(tolerance)
    (weight, bias), steps = _minimised(begin, x, y, *numbers)
    return Probe(np.asarray(weight), np.asarray(bias), float(strength), int(steps))


def choose_probe(
    features: Floats,
    labels: Labels,
    validation: tuple[Floats, Labels],
    *,
    num_classes: int,
    strengths: Sequence[float] = STRENGTHS,
) -> tuple[Probe, float]:
    """The probe whose strength is best on the validation rows, and its accuracy on them.

    Of equals the weakest, which depends least on individual rows.
    """
    if not strengths:
        raise ValueError("no strengths to choose from")
    found = []
    for strength in sorted(strengths):
        probe = fit_probe(features, labels, num_classes=num_classes, strength=strength)
        found.append((probe.accuracy(*validation), probe))
    best = max(accuracy for accuracy, _ in found)
    return next((probe, accuracy) for accuracy, probe in found if accuracy == best)


def split(
    labels: Labels, *, test: float, validation: float, seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows for training, validation and test, with the same share of each class.

    `test` is a share of all rows, `validation` a share of the rest. Each class has at
    least one row in each.
    """
    for name, part in (("test", test), ("validation", validation)):
        if not 0 < part < 1:
            raise ValueError(f"{name} must be between 0 and 1, got {part}")
    rng = np.random.Generator(np.random.PCG64(seed))
    parts: list[list[npt.NDArray[np.int64]]] = [[], [], []]
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        if len(rows) < 3:
            raise ValueError(
                f"class {label} has {len(rows)} images; at least 3 are needed: train, "
                "validation and test"
            )
        num_test = min(max(1, round(test * len(rows))), len(rows) - 2)
        rest = len(rows) - num_test
        num_chosen = min(max(1, round(validation * rest)), rest - 1)
        of_test, of_choice, of_train = np.split(rows, [num_test, num_test + num_chosen])
        for held, part_rows in zip(parts, (of_train, of_choice, of_test), strict=True):
            held.append(part_rows)
    train, chosen, tested = (np.sort(np.concatenate(held)) for held in parts)
    return train, chosen, tested


@jax.jit
def _minimised(
    begin: Any,
    x: jax.Array,
    y: jax.Array,
    strength: jax.Array,
    max_steps: jax.Array,
    tolerance: jax.Array,
) -> Any:
    import optax

    def loss(params: tuple[jax.Array, jax.Array]) -> jax.Array:
        weight, bias = params
        losses = optax.softmax_cross_entropy_with_integer_labels(x @ weight + bias, y)
        # Divided by C·n throughout, so that steps and tolerance do not depend on either.
        return jnp.mean(losses) + 0.5 * jnp.sum(weight**2) / (strength * len(x))

    solver = optax.lbfgs()
    value_and_grad = optax.value_and_grad_from_state(loss)

    def step(carry: Any) -> Any:
        params, state, number, _ = carry
        value, grad = value_and_grad(params, state=state)
        updates, state = solver.update(grad, state, params, value=value, grad=grad, value_fn=loss)
        largest = jnp.max(jnp.stack([jnp.max(jnp.abs(g)) for g in jax.tree.leaves(grad)]))
        return optax.apply_updates(params, updates), state, number + 1, largest

    def is_running(carry: Any) -> Any:
        return (carry[2] < max_steps) & (carry[3] > tolerance)

    first = (begin, solver.init(begin), jnp.int32(0), jnp.float32(jnp.inf))
    params, _, steps, _ = jax.lax.while_loop(is_running, step, first)
    return params, steps


def _refuse(features: Floats, labels: Labels, num_classes: int) -> None:
    if features.ndim != 2 or len(features) != len(labels) or not len(labels):
        raise ValueError(
            f"expected features [n, width] and as many labels, got {features.shape} and "
            f"{labels.shape}"
        )
    if num_classes < 2 or labels.min() < 0 or labels.max() >= num_classes:
        raise ValueError(
            f"labels must be from 0 to {num_classes - 1}, of at least two classes, got "
            f"{labels.min()} … {labels.max()}"
        )
    if not np.isfinite(features).all():
        raise ValueError("features are not finite")
