"""What answers are worth: functions, checks of an answer, a reward model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from barrow.align.model import Aligned
from barrow.align.objectives import last_scores
from barrow.errors import BarrowError
from barrow.models.buckets import bucket
from barrow.models.open_model import open_model


class RewardFailed(BarrowError):
    """A reward raised an error, or was not a finite number."""


@dataclass(frozen=True, eq=False)
class Sample:
    """An answer: its prompt, what the record of the prompt says, and the tokens of both."""

    prompt: str
    answer: str
    record: Mapping[str, Any]
    ids: npt.NDArray[np.int32]
    place: str = ""


class Reward(Protocol):
    """A plain function, or a frozen dataclass that is called as one. Higher is better."""

    def __call__(self, prompt: str, answer: str, record: Mapping[str, Any]) -> float: ...


@runtime_checkable
class BatchedReward(Protocol):
    """A reward of many answers at once, such as a model's."""

    def of_samples(self, samples: Sequence[Sample]) -> list[float]:
        """A number for each."""
        ...


@dataclass(frozen=True)
class Weighed:
    """A reward and its weight in the sum."""

    reward: Reward
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.weight):
            raise ValueError(f"the weight of a reward must be finite, got {self.weight}")

    @property
    def name(self) -> str:
        """In the log."""
        return str(getattr(self.reward, "__name__", type(self.reward).__name__)).lower()

    @property
    def runs_code(self) -> bool:
        """Whether it runs what a model wrote."""
        return bool(getattr(self.reward, "runs_code", False))


@dataclass(frozen=True)
class Exact:
    """1 if the answer is the record's, without white space around it; else 0.

    - `key`: of the record; `pattern`: what of the answer is compared: the last match, or its group.
    """

    key: str = "answer"
    pattern: str = ""

    def __post_init__(self) -> None:
        re.compile(self.pattern)

    def __call__(self, prompt: str, answer: str, record: Mapping[str, Any]) -> float:
        """See `Reward`."""
        del prompt
        if self.key not in record:
            raise KeyError(f"the record has no {self.key!r}; it has {', '.join(record)}")
        if self.pattern:
            found = re.findall(self.pattern, answer)
            answer = found[-1] if found else ""
        return float(answer.strip() == str(record[self.key]).strip())


@dataclass(frozen=True)
class Matches:
    """1 if a pattern is found in the answer; else 0."""

    pattern: str

    def __post_init__(self) -> None:
        re.compile(self.pattern)

    def __call__(self, prompt: str, answer: str, record: Mapping[str, Any]) -> float:
        """See `Reward`."""
        del prompt, record
        return float(re.search(self.pattern, answer) is not None)


@dataclass(frozen=True)
class RewardModel:
    """The reward model of a run of `barrow align reward`, read at the last token of an answer."""

    path: str

    @cached_property
    def _opened(self) -> Any:
        loaded = open_model(self.path)
        if not isinstance(loaded.model, Aligned) or loaded.model.config.head != "reward":
            raise ValueError(f"{self.path} is not a reward model; `barrow align reward` makes one")
        tokenizer = loaded.words.open()
        program = jax.jit(partial(last_scores, loaded.model))
        return loaded.params, program, tokenizer.hash, loaded.model.config.body.context

    @property
    def tokenizer_hash(self) -> str:
        """Of the tokenizer whose ids it reads."""
        return str(self._opened[2])

    def __call__(self, prompt: str, answer: str, record: Mapping[str, Any]) -> float:
        """Not one by one."""
        del prompt, answer, record
        raise TypeError("a reward model reads tokens: see of_samples")

    def of_samples(self, samples: Sequence[Sample]) -> list[float]:
        """See `BatchedReward`."""
        params, program, _, context = self._opened
        lengths = np.array([len(sample.ids) for sample in samples], np.int32)
        if lengths.max() > context:
            raise ValueError(
                f"an answer with its prompt has {lengths.max()} tokens, but the reward model "
                f"{Path(self.path).name} has {context} positions; set data.max_tokens"
            )
        tokens = np.zeros((len(samples), bucket(int(lengths.max()), context)), np.int32)
        for line, sample in zip(tokens, samples, strict=True):
            line[: len(sample.ids)] = sample.ids
        found: list[float] = np.asarray(program(params, jnp.asarray(tokens), lengths)).tolist()
        return found


def rewarded(
    rewards: Sequence[Weighed], samples: Sequence[Sample], *, stop: bool
) -> tuple[npt.NDArray[np.float64], dict[str, npt.NDArray[np.float64]], int]:
    """The weighted sum for each sample, each reward by name, and how many failed.

    One that fails is an error that names it and its prompt, or if not `stop` counts as 0.
    """
    each: dict[str, npt.NDArray[np.float64]] = {}
    total, failed = np.zeros(len(samples)), 0
    for one in rewards:
        values = np.zeros(len(samples))
        if isinstance(one.reward, BatchedReward):
            found: list[Any] = list(one.reward.of_samples(samples))
        else:
            found = [_asked(one, sample) for sample in samples]
        for number, value in enumerate(found):
            why = value if isinstance(value, str) else None
            if why is None and not math.isfinite(value):
                why = f"returned {value}"
            if why is None:
                values[number] = value
                continue
            if stop:
                raise RewardFailed(
                    f"the reward {one.name} {why} for an answer to {samples[number].place}; "
                    "objective.on_bad_reward=zero counts such rewards and continues"
                )
            failed += 1
        name = one.name if one.name not in each else f"{one.name}_{len(each)}"
        each[name] = values
        total += one.weight * values
    return total, each, failed


def _asked(one: Weighed, sample: Sample) -> Any:
    """The number, or what went wrong in words."""
    try:
        return float(one.reward(sample.prompt, sample.answer, sample.record))
    except Exception as error:  # noqa: BLE001 - a reward is anybody's code
        return f"raised {type(error).__name__}: {error}"
