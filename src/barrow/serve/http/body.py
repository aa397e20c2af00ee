"""The body of a request for completions: checked, and as requests of the engine."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barrow.models.text import prompt_tokens
from barrow.serve.requests import Choice, Request
from barrow.tokens import Tokenizer

_NUMBER = (int, float)
# Every field that is known, and its types; null is as if absent.
_FIELDS: Mapping[str, tuple[type, ...]] = {
    "model": (str,),
    "prompt": (str, list),
    "max_tokens": (int,),
    "temperature": _NUMBER,
    "top_p": _NUMBER,
    "top_k": (int,),
    "min_p": _NUMBER,
    "n": (int,),
    "stream": (bool,),
    "logprobs": (int,),
    "stop": (str, list),
    "presence_penalty": _NUMBER,
    "frequency_penalty": _NUMBER,
    "repetition_penalty": _NUMBER,
    "logit_bias": (dict,),
    "seed": (int,),
    "user": (str,),
}
_MOST_CHOICES = 128


class BadBody(ValueError):
    """What is wrong, and in which field."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Asked:
    """Requests for the engine, `n` for each prompt, and how they are answered."""

    requests: tuple[Request, ...]
    num_prompt_tokens: int
    stream: bool
    logprobs: bool


def read(body: Any, *, model: str, tokenizer: Tokenizer, stops: tuple[int, ...]) -> Asked:
    """Check a body, and make requests of it."""
    given = _checked(body)
    if given.get("model", model) != model:
        raise BadBody(f"there is no model {given['model']!r}; the model is {model!r}", "model")
    if given.get("logprobs", 0) != 0:
        raise BadBody("logprobs must be 0: those of the tokens themselves", "logprobs")
    prompts = _prompts(given.get("prompt"), tokenizer)
    num = given.get("n", 1)
    if not 1 <= num * len(prompts) <= _MOST_CHOICES:
        raise BadBody(f"n × prompts must be from 1 to {_MOST_CHOICES}", "n")
    seed = given.get("seed", secrets.randbelow(2**32)) % 2**32
    texts = given.get("stop", [])
    texts = [texts] if isinstance(texts, str) else texts
    if not all(isinstance(text, str) and text for text in texts) or len(texts) > 16:
        raise BadBody("stop must be up to 16 strings, none of them empty", "stop")
    try:
        bias = {int(token): float(value) for token, value in given.get("logit_bias", {}).items()}
        choice = {
            "temperature": given.get("temperature", 1.0),
            "top_p": given.get("top_p", 1.0),
            "top_k": given.get("top_k"),
            "min_p": given.get("min_p", 0.0),
            "presence": given.get("presence_penalty", 0.0),
            "frequency": given.get("frequency_penalty", 0.0),
            "repetition": given.get("repetition_penalty", 1.0),
            "bias": bias,
        }
        requests = [
            Request(
                prompt,
                given.get("max_tokens", 16),
                Choice(**choice, seed=(seed + number) % 2**32),
                stops=stops,
                stop_texts=texts,
            )
            for prompt in prompts
            for number in range(num)
        ]
    except (TypeError, ValueError) as error:
        raise BadBody(str(error)) from None
    return Asked(
        tuple(requests), sum(map(len, prompts)), given.get("stream", False), "logprobs" in given
    )


def _checked(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise BadBody(f"the body must be a JSON object, got {type(body).__name__}")
    given = {name: value for name, value in body.items() if value is not None}
    for name, value in given.items():
        if name not in _FIELDS:
            raise BadBody(f"unknown field {name!r}; known are {', '.join(_FIELDS)}", name)
        is_flag = isinstance(value, bool)
        if not isinstance(value, _FIELDS[name]) or is_flag != (_FIELDS[name] == (bool,)):
            kinds = " or ".join(kind.__name__ for kind in _FIELDS[name])
            raise BadBody(f"{name} must be {kinds}, got {type(value).__name__}", name)
    return given


def _prompts(given: Any, tokenizer: Tokenizer) -> list[list[int]]:
    """One prompt or several, as texts or as tokens."""
    if given is None or given == []:
        raise BadBody("prompt must be a string, tokens, or a list of either", "prompt")
    if isinstance(given, str) or all(_is_id(token) for token in given):
        given = [given]
    prompts = []
    for one in given:
        if isinstance(one, str):
            try:
                prompts.append(prompt_tokens(tokenizer, one))
            except ValueError as error:
                raise BadBody(str(error), "prompt") from None
        elif isinstance(one, list) and all(_is_id(token) for token in one):
            prompts.append(one)
        else:
            raise BadBody("prompt must be a string, tokens, or a list of either", "prompt")
    return prompts


def _is_id(token: Any) -> bool:
    return isinstance(token, int) and not isinstance(token, bool)
