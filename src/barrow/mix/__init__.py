"""Mixtures: which domains to train on, and how much of each.

Runs of small models on known mixtures come in; a law of their losses, predictions for other
mixtures and a recommended mixture with intervals go out. `barrow.mix.find` makes the runs, too.
"""

from __future__ import annotations

from barrow.mix.design import bounds, propose
from barrow.mix.law import Law, fit, interval, prediction
from barrow.mix.mixture_file import read_mixture
from barrow.mix.recommend import Recommendation, recommend
from barrow.mix.runs import Runs, read_mixtures, read_runs

__all__ = [
    "Law",
    "Recommendation",
    "Runs",
    "bounds",
    "fit",
    "interval",
    "prediction",
    "propose",
    "read_mixture",
    "read_mixtures",
    "read_runs",
    "recommend",
]
