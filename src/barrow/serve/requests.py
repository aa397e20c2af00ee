"""What is asked of the engine, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

# What a step must be able to do: take the likeliest, draw, or all there is in `Choice`.
Level = Literal["greedy", "drawn", "all"]
LEVELS: tuple[Level, ...] = ("greedy", "drawn", "all")
Reason = Literal["stop", "length", "cancelled", "failed"]
MOST_BIASES = 300
MOST_TOP = 20
# The likeliest tokens at one place, and their log-probabilities.
Likeliest = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Choice:
    """How the next token is chosen; by default the likeliest (greedy).

    - `temperature`: draw from softmax(logits / temperature); 0 takes the highest.
    - `top_k`: of the likeliest; `top_p`: of the fewest whose probabilities add up to it; `min_p`:
      of those with at least this share of the highest probability. In this order.
    - `repetition`: logits of tokens in the prompt or the answer are divided by it, or multiplied
      where negative; `presence`, `frequency`: subtracted once, or for each time, from the logits
      of tokens in the answer.
    - `bias`: added to the logits of tokens, by their ids.
    - `seed`: with the position it decides each draw.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    repetition: float = 1.0
    presence: float = 0.0
    frequency: float = 0.0
    bias: Mapping[int, float] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        infinite = float("inf")
        if not 0 <= self.temperature < infinite:
            raise ValueError(f"temperature must be ≥ 0, got {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be ≥ 1, got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be > 0 and ≤ 1, got {self.top_p}")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p must be from 0 to 1, got {self.min_p}")
        if not 0 < self.repetition < infinite:
            raise ValueError(f"repetition must be > 0, got {self.repetition}")
        for name in ("presence", "frequency"):
            if not abs(getattr(self, name)) < infinite:
                raise ValueError(f"{name} must be a number, got {getattr(self, name)}")
        if len(self.bias) > MOST_BIASES:
            raise ValueError(f"bias may have {MOST_BIASES} tokens, got {len(self.bias)}")
        if not all(abs(bias) < infinite for bias in self.bias.values()):
            raise ValueError(f"biases must be numbers, got {dict(self.bias)}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed must be from 0 to 2³² − 1, got {self.seed}")

    @cached_property
    def is_plain(self) -> bool:
        """Whether it is greedy, or draws from all tokens as the model has them."""
        changed = (self.repetition, self.presence, self.frequency) != (1, 0, 0) or self.bias
        is_cut = self.top_k is not None or self.top_p < 1 or self.min_p > 0
        return not changed and not (is_cut and self.temperature > 0)


GREEDY = Choice()


@dataclass(frozen=True)
class Request:
    """Up to `max_tokens` tokens after a prompt.

    An answer ends before one of the token ids in `stops`, or before one of the strings in
    `stop_texts`. `allowed`, called with the tokens of the answer so far, gives the ids that may
    come next, as booleans [vocab]; `is_over`, called with them too, ends it. With `num_top`, the
    answer has that many of the likeliest tokens at each place; with `reads_prompt`,
    log-probabilities of the prompt too, and `max_tokens` may be 0.
    """

    prompt: Sequence[int]
    max_tokens: int
    choice: Choice = GREEDY
    stops: Sequence[int] = ()
    stop_texts: Sequence[str] = ()
    allowed: Callable[[Sequence[int]], npt.NDArray[np.bool_]] | None = None
    is_over: Callable[[Sequence[int]], bool] | None = None
    num_top: int = 0
    reads_prompt: bool = False


@dataclass(eq=False)
class Answer:
    """What is known of an answer; it grows with each step until there is a `reason` for its end.

    `logprobs` are natural logarithms of the model's probabilities, of each token. `stop` is the one
    of `Request.stops` that ended it, which is not among `tokens`, and its log-probability. `text`
    has whole characters only, and nothing that may be the beginning of a stop text; it is empty
    where the engine has no tokenizer. `top` are the likeliest tokens at each place.
    `prompt_logprobs` and `prompt_top` are those of the prompt after its first token, complete with
    the first new one. `failure` says why it "failed": what its own `allowed` raised.
    """

    request: Request
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    text: str = ""
    reason: Reason | None = None
    stop: tuple[int, float] | None = None
    top: list[Likeliest] = field(default_factory=list)
    prompt_logprobs: list[float] = field(default_factory=list)
    prompt_top: list[Likeliest] = field(default_factory=list)
    failure: str | None = None


def level_of(requests: Iterable[Request]) -> Level:
    """What drawing the next token of these needs."""
    found: Level = "greedy"
    for request in requests:
        if not request.choice.is_plain:
            return "all"
        if request.choice.temperature > 0:
            found = "drawn"
    return found


def check(request: Request, *, vocab: int, context: int) -> None:
    """Refuse what can never be answered."""
    prompt = request.prompt
    if not len(prompt):
        raise ValueError("the prompt is empty: start it with the tokenizer's begin token")
    least = 0 if request.reads_prompt else 1
    if request.max_tokens < least:
        raise ValueError(f"max_tokens must be ≥ {least}, got {request.max_tokens}")
    if not 0 <= request.num_top <= MOST_TOP:
        raise ValueError(f"num_top must be from 0 to {MOST_TOP}, got {request.num_top}")
    if len(prompt) + request.max_tokens > context:
        raise ValueError(
            f"the prompt has {len(prompt)} tokens, with {request.max_tokens} new ones too many for "
            f"the model's {context} positions; max_tokens can be at most "
            f"{max(context - len(prompt), 0)}, or shorten the prompt"
        )
    for what, ids in (("prompt", prompt), ("bias", request.choice.bias)):
        if wrong := [token for token in ids if not 0 <= token < vocab]:
            raise ValueError(f"the {what} has token {wrong[0]}; ids must be from 0 to {vocab - 1}")
    if "" in request.stop_texts:
        raise ValueError("a stop text must have at least one character")
