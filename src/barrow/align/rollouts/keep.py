"""Rollouts on disk: a shard for each step, that is read like any archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from barrow.align.rollouts.rewards import Sample
from barrow.align.rollouts.sampler import Drawn
from barrow.files import make_folder

FOLDER = "rollouts"


@dataclass(frozen=True)
class Kept:
    """Writes the answers of steps under the folder of a run; None keeps none.

    A document is the prompt with its answer; its meta has both, the rewards, how the answer ended,
    and where the prompt comes from. A step that is done again writes the same bytes.
    """

    folder: Path | None

    def write(
        self,
        step: int,
        samples: Sequence[Sample],
        drawn: Sequence[Drawn],
        rewards: Any,
        each: Mapping[str, Any],
    ) -> None:
        """Write a step."""
        if self.folder is None or jax.process_index() != 0:
            return
        from barrow.archive import Document, Writer

        make_folder(self.folder)
        path = self.folder / f"step-{step:09d}.jsonl.zst"
        with Writer(path, overwrite=True) as writer:
            for number, (sample, one) in enumerate(zip(samples, drawn, strict=True)):
                meta = {
                    "step": step,
                    "prompt": sample.prompt,
                    "answer": sample.answer,
                    "reward": float(rewards[number]),
                    "rewards": {name: float(values[number]) for name, values in each.items()},
                    "reason": one.reason,
                    "tokens": len(one.ids),
                    "source": sample.place,
                }
                writer.add(Document(sample.prompt + sample.answer, meta))
