from __future__ import annotations

import math

from barrow.train.finetune.best_epoch import Progress


def run(metric: str, *values: float) -> Progress:
    progress = Progress(metric)
    for value in values:
        progress = progress.after(value)
    return progress


def test_the_best_epoch() -> None:
    assert run("accuracy", 0.5, 0.7, 0.6) == Progress("accuracy", 3, 2, 0.7)
    assert run("loss", 0.5, 0.7, 0.6) == Progress("loss", 3, 1, 0.5)
    assert run("accuracy", 0.5, 0.5).best_epoch == 1  # the first of equals
    assert run("f1", 0.2, 0.3).was_best
    assert not run("f1", 0.3, 0.2).was_best
    assert not Progress("f1").was_best


def test_what_has_no_value_is_worst() -> None:
    first = run("pearson", math.nan)
    assert (first.best_epoch, first.best, first.was_best) == (1, None, True)
    assert run("pearson", math.nan, math.nan).best_epoch == 1
    assert run("pearson", math.nan, -0.9) == Progress("pearson", 2, 2, -0.9)
    assert run("pearson", -0.9, math.nan).best_epoch == 1


def test_when_it_is_over() -> None:
    progress = run("accuracy", 0.7, 0.6, 0.65)
    assert progress.is_over(epochs=3, patience=None)
    assert not progress.is_over(epochs=4, patience=None)
    assert progress.is_over(epochs=9, patience=2)
    assert not progress.is_over(epochs=9, patience=3)
    assert not Progress("accuracy").is_over(epochs=1, patience=1)
