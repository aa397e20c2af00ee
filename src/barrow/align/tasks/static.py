"""Runs on data that exist: fine-tuning on chats, rewards and preferences of pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from barrow.align.data.batches import AlignData
from barrow.align.data.records import Bad
from barrow.align.data.settings import Chats, Pairs
from barrow.align.tasks.start import AlignTask, open_words
from barrow.train.run import Run
from barrow.train.tasks.task import Data, Work


@dataclass(frozen=True)
class StaticTask(AlignTask):
    """The task of a run whose data are `Chats` or `Pairs`."""

    @property
    def settings(self) -> Chats | Pairs:
        """The settings of the data."""
        assert isinstance(self.run.data, (Chats, Pairs))
        return self.run.data

    def check(self) -> None:
        """Require rows that fit the model."""
        AlignTask.check(self)
        context = self.config.body.context
        if self.settings.length >= context:
            raise ValueError(
                f"rows have {self.settings.length} tokens and one more is predicted, but the model "
                f"has {context} positions: set data.length={context - 1}"
            )

    def data(self) -> AlignData:
        """The training rows."""
        return open_data(self.run, self.settings.path)[0]

    def validation(self, data: Data) -> AlignData | None:
        """The validation rows, each read once."""
        del data
        if not self.settings.validation:
            return None
        found = open_data(self.run, self.settings.validation)[0]
        return replace(found, num_steps=found.order.steps(1))

    def work(self, batch: Mapping[str, Any], num_params: int) -> Work:
        """Tokens or pairs, with padding, times the model's operations."""
        shape = batch["tokens"].shape
        tokens, length = math.prod(shape), shape[-1]
        size = tokens if self.unit == "token" else shape[0]
        return Work(size, tokens * self.config.body.flops(num_params, length))


@lru_cache(maxsize=4)
def _opened(
    data: Chats | Pairs, path: str, init: str, loss: str, parts: int
) -> tuple[AlignData, Bad]:
    words, bad = open_words(init, data.tokenizer, data.template, data.begin), Bad(data.on_bad)
    return data.open(words, bad, path=path, loss=loss, parts=parts), bad


def open_data(run: Run, path: str) -> tuple[AlignData, Bad]:
    """The rows of a file, as a run reads them, and what was left out."""
    assert isinstance(run.data, (Chats, Pairs))
    loss = str(getattr(run.objective, "loss", ""))
    return _opened(run.data, path, run.init, loss, run.step.accumulate)
