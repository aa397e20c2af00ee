"""The law of mixtures: how the loss of a domain depends on the weights of all domains.

For a scored domain and models of one size, ``loss(p) = c + A · (Σ_j T_j p_j + ε)^(-α)``: the loss
falls as a power of what the domain receives from every domain j, from itself above all. T is the
transfer. All parameters are positive. Their logarithms are fitted by robust least squares with weak
priors: the own transfer is about 1, that from others close to 0.

Runs of several sizes are fitted from the smallest size up, and each size is the prior of the next:
T and α change little with size, c and A more. So many tiny runs show what helps what, and a few
larger ones set the level of the loss.

Intervals come from replicates of the fit, a parametric bootstrap: every loss of every run gets
noise of the size that the fit leaves, and the centre of every prior is drawn from the prior, so
that a parameter which the runs do not determine is as uncertain as its prior. (Drawing runs with
replacement covers the truth too rarely: the law has almost as many parameters as there are runs.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barrow.errors import ConfigError
from barrow.mix.runs import Array, Runs

LEVEL = 0.95  # of all intervals

_FLOOR, _SCALE, _POWER, _TRANSFER = 0, 1, 2, 3  # log c, log A, log α, then log T of each domain
_EPSILON = 1e-4
_HUBER = 2.0  # a residual counts linearly beyond this many standard deviations
_OTHER = -8.0  # log T from another domain, before any run
# Standard deviations of the priors: log c, log A, log α, log T from itself, from others. They were
# chosen by cross-validation on RegMix's 512 runs of 1M parameters.
_FIRST = (1.0, 0.3, 1.0, 0.5, 3.0)
_NEXT = (0.5, 0.5, 0.2, 0.2, 0.3)  # of the change from one size to the next
_AT_ONCE = 32  # replicates that are fitted together


@dataclass(frozen=True)
class Law:
    """A fitted law for models of `params` parameters.

    `theta` has the parameters by replicate and scored domain; replicate 0 is the fit itself.
    """

    domains: tuple[str, ...]
    scored: tuple[str, ...]
    params: float
    theta: Array

    def predict(self, weights: Array) -> Array:
        """Losses by replicate, mixture and scored domain."""
        return np.moveaxis(_evaluate(self.theta, weights)[0], 1, 2)

    def slopes(self, weights: Array, replicates: slice) -> tuple[Array, Array]:
        """Losses of a mixture by scored domain, the mean of some replicates; their derivatives by
        the weights.
        """
        values = np.exp(self.theta[replicates])
        received = values[..., _TRANSFER:] @ weights + _EPSILON
        gain = values[..., _SCALE] * received ** -values[..., _POWER]
        slope = -(gain * values[..., _POWER] / received)[..., None] * values[..., _TRANSFER:]
        return (values[..., _FLOOR] + gain).mean(axis=0), slope.mean(axis=0)

    def transfer(self) -> Array:
        """T by replicate, scored domain and domain, as a share of the largest."""
        transfer = np.exp(self.theta[..., _TRANSFER:])
        return np.asarray(transfer / transfer.max(axis=-1, keepdims=True))


def prediction(law: Law, mixtures: Array) -> dict[str, list[float]]:
    """Columns of a table: the loss of each scored domain with its interval, and the mean."""
    losses = law.predict(mixtures)
    low, high = interval(losses)
    columns = {
        f"{kind}:{name}": values[:, place].tolist()
        for kind, values in (("loss", losses[0]), ("low", low), ("high", high))
        for place, name in enumerate(law.scored)
    }
    return columns | {"mean": losses[0].mean(axis=1).tolist()}


def interval(values: Array) -> tuple[Array, Array]:
    """The bounds of what has replicates as its first axis."""
    if len(values) < 2:
        raise ConfigError("intervals need replicates: pass replicates=200 to mix.fit")
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(values[1:], (tail, 1 - tail), axis=0)
    return low, high


def needed_runs(num_domains: int) -> int:
    """Degrees of freedom of a law: with fewer runs it is not determined."""
    return num_domains + _TRANSFER


def fit(runs: Runs, *, params: float | None = None, replicates: int = 200, seed: int = 0) -> Law:
    """Fit the law for models of `params` parameters, by default of the largest size of the runs.

    For another size the parameters are extrapolated, linearly in its logarithm.
    """
    needed = needed_runs(len(runs.domains))
    if len(runs.names) < needed:
        raise ConfigError(
            f"a law of {len(runs.domains)} domains needs {needed} runs, got {len(runs.names)}"
        )
    sizes = np.unique(runs.params)
    wanted = float(sizes[-1] if params is None else params)
    if wanted not in sizes and len(sizes) == 1:
        raise ConfigError(
            f"params must be {sizes[0]:.0f}, the size of all runs, got {wanted:.0f}; "
            "other sizes need runs of two sizes"
        )
    rng = np.random.default_rng(seed)
    fitted: list[Array] = []
    for size in sizes[sizes <= wanted] if wanted in sizes else sizes:
        chosen = runs.params == size
        losses = runs.losses[chosen]
        centre = fitted[-1] if fitted else _prior(runs, losses)
        deviation = _deviations(runs, _NEXT if fitted else _FIRST)
        fitted.append(_fit_size(runs.weights[chosen], losses, centre, deviation, replicates, rng))
    theta = fitted[-1]
    if wanted not in sizes:
        place = np.log(wanted / sizes[-1]) / np.log(sizes[-1] / sizes[-2])
        theta = theta + place * (theta - fitted[-2])
    return Law(runs.domains, runs.scored, wanted, theta)


def _is_own(runs: Runs) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    return np.array([[domain == scored for domain in runs.domains] for scored in runs.scored])


def _prior(runs: Runs, losses: Array) -> Array:
    """Centres of the priors before any run, by replicate (one) and scored domain."""
    level = np.log(losses.min(axis=0))
    parts = [level + np.log(0.5), level + np.log(0.4), np.full_like(level, np.log(0.2))]
    transfer = np.where(_is_own(runs), 0.0, _OTHER)
    return np.concatenate([np.stack(parts, axis=1), transfer], axis=1)[None]


def _deviations(runs: Runs, widths: tuple[float, ...]) -> Array:
    floor, scale, power, own, other = widths
    first = np.broadcast_to([floor, scale, power], (len(runs.scored), 3))
    return np.concatenate([first, np.where(_is_own(runs), own, other)], axis=1)


def _fit_size(
    weights: Array,
    losses: Array,
    centre: Array,
    deviation: Array,
    replicates: int,
    rng: np.random.Generator,
) -> Array:
    """The parameters for runs of one size, by replicate and scored domain."""
    num_runs = len(losses)
    target = losses.T
    theta = centre[:1]
    free = np.full(len(target), float(num_runs))
    noise = 0.1 * losses.std(axis=0) + 1e-3
    for _ in range(4):  # the noise sets the weight of the priors, and is what the fit leaves
        theta = _solve(theta, weights, target[None], centre[:1], deviation, noise)
        predicted, slope = _evaluate(theta[0], weights)
        curvature = np.swapaxes(slope, 1, 2) @ slope / noise[:, None, None] ** 2
        total = curvature + np.eye(slope.shape[-1]) / deviation[:, None] ** 2
        used = np.trace(np.linalg.solve(total, curvature), axis1=1, axis2=2)
        free = np.maximum(num_runs - used, 0.1 * num_runs)
        error = np.minimum(np.abs(predicted - target), 3 * noise[:, None])
        noise = np.sqrt((error**2).sum(axis=1) / free) + 1e-3
    found = [theta]
    for first in range(0, replicates, _AT_ONCE):
        number = min(_AT_ONCE, replicates - first)
        spread = noise * np.sqrt(free / rng.chisquare(free, (number, len(free))))
        noisy = target + spread[..., None] * rng.standard_normal((number, *target.shape))
        before = centre[1 + first : 1 + first + number] if len(centre) > 1 else centre
        drawn = before + deviation * rng.standard_normal((number, *deviation.shape))
        start = np.repeat(theta, number, axis=0)
        found.append(_solve(start, weights, noisy, drawn, deviation, noise))
    return np.concatenate(found)


def _evaluate(theta: Array, weights: Array) -> tuple[Array, Array]:
    """Losses of mixtures, and their derivatives by the parameters (as the last axis)."""
    values = np.exp(theta)[..., None, :]
    transferred = weights * values[..., _TRANSFER:]
    received = transferred.sum(axis=-1) + _EPSILON
    power = values[..., _POWER]
    gain = values[..., _SCALE] * received**-power
    slope = np.empty((*gain.shape, theta.shape[-1]))
    slope[..., _FLOOR] = values[..., _FLOOR]
    slope[..., _SCALE] = gain
    slope[..., _POWER] = -gain * power * np.log(received)
    slope[..., _TRANSFER:] = (-gain * power / received)[..., None] * transferred
    return values[..., _FLOOR] + gain, slope


def _solve(
    theta: Array,
    weights: Array,
    target: Array,
    centre: Array,
    deviation: Array,
    noise: Array,
) -> Array:
    """Levenberg and Marquardt's method, for all replicates and scored domains together."""
    precision = deviation**-2
    noise = noise[:, None]

    def cost_of(theta: Array, error: Array) -> Array:
        size = np.abs(error) / noise
        huber = np.where(size < _HUBER, size**2, 2 * _HUBER * size - _HUBER**2)
        prior = (precision * (theta - centre) ** 2).sum(axis=-1)
        return np.asarray(huber.sum(axis=-1) + prior)

    damping = np.full(theta.shape[:2], 1e-2)
    predicted, slope = _evaluate(theta, weights)
    error = predicted - target
    cost = cost_of(theta, error)
    for _ in range(60):
        robust = np.minimum(1, _HUBER * noise / np.maximum(np.abs(error), 1e-12))
        weighted = (robust / noise**2)[..., None] * slope
        gradient = (error[..., None] * weighted).sum(axis=-2) + precision * (theta - centre)
        curvature = np.swapaxes(slope, -1, -2) @ weighted
        diagonal = np.einsum("...ii->...i", curvature)
        diagonal += precision
        diagonal *= 1 + damping[..., None]
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        tried = theta - np.clip(step, -2, 2)
        new_predicted, new_slope = _evaluate(tried, weights)
        new_cost = cost_of(tried, new_predicted - target)
        better = new_cost < cost
        finished = np.all(~better | (cost - new_cost < 1e-6 * cost))
        theta = np.where(better[..., None], tried, theta)
        error = np.where(better[..., None], new_predicted - target, error)
        slope = np.where(better[..., None, None], new_slope, slope)
        cost = np.where(better, new_cost, cost)
        damping = np.clip(np.where(better, damping / 3, damping * 4), 1e-9, 1e9)
        if finished and np.all(better | (damping > 1)):
            break
    return theta
