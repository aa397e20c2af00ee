"""A recipe's run, fitted to a token store."""

from __future__ import annotations

import os
from dataclasses import replace

from barrow.train.run import Run
from barrow.train.task import task_of


def for_store(
    run: Run,
    store: str | os.PathLike[str],
    *,
    held_out: str | os.PathLike[str] | None = None,
) -> Run:
    """The run on a store, with as many ids in the model's vocabulary as the store's tokenizer has.

    `held_out` is the store for evaluation, made with the same tokenizer.
    """
    held_out = None if held_out is None else os.fspath(held_out)
    return task_of(replace(run, store=os.fspath(store), held_out=held_out)).fitted()
