"""The law of mixtures beside boosted trees and a log-linear fit, at equal runs.

    python benchmarks/bench_mix.py FOLDER [--draws 5]

FOLDER has runs of small models (runs_1m.csv) and of larger ones (runs_60m.csv), as RegMix published
them: run, params, weight:DOMAIN, loss:DOMAIN. From a random part of the runs everybody predicts the
larger runs that are left. Printed is Spearman's correlation with their losses, by mean loss and as
the median over domains, the mean of all draws, and the processor seconds of a fit.

The trees are scikit-learn's, with the settings that do best of a small grid on the runs of 1M. The
log-linear fit is ``log(loss - c) = w · p`` with c = 0.9 of the least loss and a small ridge.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from scipy.stats import spearmanr
from sklearn.ensemble import GradientBoostingRegressor

from barrow.mix import Runs, fit, read_runs
from barrow.mix.runs import Array


def law(train: Runs, weights: Array) -> Array:
    return fit(train, replicates=0).predict(weights)[0]


def trees(train: Runs, weights: Array) -> Array:
    model = GradientBoostingRegressor(
        n_estimators=200, max_depth=3, learning_rate=0.05, subsample=0.8, random_state=0
    )
    sizes = np.log(train.params)  # a feature, for runs of two sizes
    features = np.column_stack([train.weights, sizes])
    wanted = np.column_stack([weights, np.full(len(weights), sizes.max())])
    return np.stack(
        [model.fit(features, losses).predict(wanted) for losses in train.losses.T], axis=1
    )


def log_linear(train: Runs, weights: Array) -> Array:
    floor = 0.9 * train.losses.min(axis=0)
    ridge = 0.1 * np.eye(len(train.domains))
    left = np.concatenate([train.weights, ridge])
    right = np.concatenate([np.log(train.losses - floor), np.zeros((len(ridge), len(floor)))])
    return np.asarray(floor + np.exp(weights @ np.linalg.lstsq(left, right, rcond=None)[0]))


def joined(first: Runs, second: Runs) -> Runs:
    return Runs(
        first.names + second.names,
        np.concatenate([first.params, second.params]),
        first.domains,
        np.concatenate([first.weights, second.weights]),
        first.scored,
        np.concatenate([first.losses, second.losses]),
    )


def correlations(predicted: Array, true: Array) -> tuple[float, float]:
    by_domain = [spearmanr(*pair).statistic for pair in zip(predicted.T, true.T, strict=True)]
    mean = spearmanr(predicted.mean(axis=1), true.mean(axis=1)).statistic
    return float(mean), float(np.median(by_domain))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    small = read_runs([options.folder / "runs_1m.csv"])
    large = read_runs([options.folder / "runs_60m.csv"])
    methods: dict[str, Callable[[Runs, Array], Array]] = {
        "law": law,
        "boosted trees": trees,
        "log-linear": log_linear,
    }
    rows: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for draw in range(options.draws):
        rng = np.random.default_rng(draw)
        order, tiny = rng.permutation(len(large.names)), rng.permutation(len(small.names))
        sets = {
            "34 × 60M": (large.chosen(order[:34]), large.chosen(order[34:])),
            "68 × 1M": (small.chosen(tiny[:68]), large),
            "68 × 1M + 6 × 60M": (
                joined(small.chosen(tiny[:68]), large.chosen(order[:6])),
                large.chosen(order[6:]),
            ),
        }
        for title, (train, test) in sets.items():
            for name, method in methods.items():
                if name == "log-linear" and "+" in title:
                    continue  # it knows one size
                start = time.process_time()
                predicted = method(train, test.weights)
                seconds = time.process_time() - start
                found = rows.setdefault((title, name), [])
                found.append((*correlations(predicted, test.losses), seconds))
    print("| trained on | by | mean loss | median domain | s |\n|---|---|---|---|---|")
    for (title, name), found in rows.items():
        mean, domain, seconds = np.mean(found, axis=0)
        print(f"| {title} | {name} | {mean:.3f} | {domain:.3f} | {seconds:.2f} |")


if __name__ == "__main__":
    main()
