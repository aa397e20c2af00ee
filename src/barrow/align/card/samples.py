"""What answers look like, and how far they are from those of another model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.align.rollouts.sampler import Drawn
from barrow.models.buckets import bucket
from barrow.models.decoder.model import Decoder
from barrow.models.decoder.next_token_nats import next_token_nats
from barrow.models.load import Loaded
from barrow.models.open_model import of_kind

_GRAM = 4


@dataclass(frozen=True)
class Style:
    """Of several answers: tokens of each, the share that ended by itself, and of repetitions.

    `repeated` is the share of runs of four tokens that the same answer has had before.
    """

    length: float
    ended: float
    repeated: float


def style(answers: Sequence[Drawn]) -> Style:
    """Length and repetition."""
    repeated, runs = 0, 0
    for answer in answers:
        said = answer.said.tolist()
        grams = [tuple(said[at : at + _GRAM]) for at in range(len(said) - _GRAM + 1)]
        repeated += len(grams) - len(set(grams))
        runs += len(grams)
    return Style(
        float(np.mean([len(answer.said) for answer in answers])),
        float(np.mean([answer.reason == "stop" for answer in answers])),
        repeated / runs if runs else 0.0,
    )


def divergence(
    after: Loaded, before: Loaded, prompts: Sequence[Sequence[int]], answers: Sequence[Drawn]
) -> float:
    """KL(after ‖ before) in nats per answer, estimated on answers that `after` drew."""
    longest = max(len(p) + len(a.ids) for p, a in zip(prompts, answers, strict=True))
    context = of_kind(after, "the model", Decoder).config.context
    ids = np.zeros((len(answers), bucket(longest, context)), np.int32)
    mask = np.zeros((len(answers), ids.shape[1] - 1))
    for line, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        whole = [*prompt, *answer.ids]
        ids[line, : len(whole)] = whole
        mask[line, len(prompt) - 1 : len(whole) - 1] = 1

    def nats(loaded: Loaded) -> Any:
        model = of_kind(loaded, "the model", Decoder)
        found = jax.jit(lambda p, x: next_token_nats(model, p, x))(loaded.params, jnp.asarray(ids))
        return np.asarray(found, np.float64)

    return float(((nats(before) - nats(after)) * mask).sum() / len(answers))
