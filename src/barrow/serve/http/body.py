"""Bodies of requests: checked, and as requests of the engine."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from barrow.errors import TokenizerError
from barrow.models.text import prompt_tokens
from barrow.serve.http.schema import Constraint
from barrow.serve.http.served import Writer
from barrow.serve.requests import MOST_TOP, Choice, Request

Fields = Mapping[str, tuple[type, ...]]
_NUMBER = (int, float)
# Every field that is known, and its types; null is as if absent.
_SHARED: Fields = {
    "model": (str,),
    "max_tokens": (int,),
    "temperature": _NUMBER,
    "top_p": _NUMBER,
    "top_k": (int,),
    "min_p": _NUMBER,
    "n": (int,),
    "stream": (bool,),
    "stream_options": (dict,),
    "stop": (str, list),
    "presence_penalty": _NUMBER,
    "frequency_penalty": _NUMBER,
    "repetition_penalty": _NUMBER,
    "logit_bias": (dict,),
    "seed": (int,),
    "response_format": (dict,),
    "user": (str,),
}
COMPLETION: Fields = {"prompt": (str, list), **_SHARED, "logprobs": (int,), "echo": (bool,)}
CHAT: Fields = {
    "messages": (list,),
    **_SHARED,
    "max_completion_tokens": (int,),
    "logprobs": (bool,),
    "top_logprobs": (int,),
    "chat_template_kwargs": (dict,),
}
EMBEDDINGS: Fields = {
    "model": (str,),
    "input": (str, list, dict),
    "encoding_format": (str,),
    "dimensions": (int,),
    "user": (str,),
}
SCORE: Fields = {"model": (str,), "text": (str, list)}
_MOST_CHOICES = 128


class BadBody(ValueError):
    """What is wrong, and in which field."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Asked:
    """Requests for the engine, `n` for each prompt, and how they are answered.

    `num_top` is None where no log-probabilities are asked for; `echo` has the text before each
    answer.
    """

    requests: tuple[Request, ...]
    num_prompt_tokens: int
    is_chat: bool
    stream: bool
    with_usage: bool
    num_top: int | None
    echo: tuple[str, ...] | None = None


def checked(body: Any, fields: Fields, *, model: str) -> dict[str, Any]:
    """The fields of a body that are not null, each of a known name and type."""
    if not isinstance(body, dict):
        raise BadBody(f"the body must be a JSON object, got {type(body).__name__}")
    given = {name: value for name, value in body.items() if value is not None}
    for name, value in given.items():
        if name not in fields:
            raise BadBody(f"unknown field {name[:60]!r}; known are {', '.join(fields)}", name[:60])
        is_flag = isinstance(value, bool)
        if not isinstance(value, fields[name]) or is_flag != (fields[name] == (bool,)):
            kinds = " or ".join(kind.__name__ for kind in fields[name])
            raise BadBody(f"{name} must be {kinds}, got {type(value).__name__}", name)
    if given.get("model", model) != model:
        wrong = given["model"][:60]
        raise BadBody(f"there is no model {wrong!r}; the model is {model!r}", "model")
    return given


def read_completion(body: Any, writer: Writer, *, model: str) -> Asked:
    """A body of /v1/completions."""
    given = checked(body, COMPLETION, model=model)
    texts, prompts = _prompts(given.get("prompt"), writer)
    num_top, echo = given.get("logprobs"), given.get("echo", False)
    if num_top is not None and not 0 <= num_top <= MOST_TOP:
        raise BadBody(f"logprobs must be from 0 to {MOST_TOP}, got {num_top}", "logprobs")
    reads = echo and num_top is not None
    requests = _requests(given, prompts, writer, default=16, num_top=num_top or 0, reads=reads)
    num = given.get("n", 1)
    return Asked(
        tuple(requests),
        sum(map(len, prompts)),
        is_chat=False,
        stream=given.get("stream", False),
        with_usage=_with_usage(given),
        num_top=num_top,
        echo=tuple(text for text in texts for _ in range(num)) if echo else None,
    )


def read_chat(body: Any, writer: Writer, *, model: str) -> Asked:
    """A body of /v1/chat/completions; a template that fails is a `TokenizerError`."""
    given = checked(body, CHAT, model=model)
    if writer.template is None:
        raise BadBody("the model has no chat template; use /v1/completions")
    messages = _messages(given.get("messages"))
    with_logprobs, num_top = given.get("logprobs", False), given.get("top_logprobs", 0)
    if not 0 <= num_top <= MOST_TOP or (num_top and not with_logprobs):
        raise BadBody(
            f"top_logprobs must be from 0 to {MOST_TOP}, with logprobs, got {num_top}",
            "top_logprobs",
        )
    try:
        ids = writer.template.encode(
            messages,
            writer.tokenizer,
            **given.get("chat_template_kwargs", {}),
            add_generation_prompt=True,
        )
    except TokenizerError:
        raise
    except (TypeError, ValueError) as error:
        raise BadBody(str(error), "messages") from None
    prompt = [int(token) for token in ids]
    if not prompt:
        raise BadBody("the chat template gives no text for these messages", "messages")
    given.setdefault("max_tokens", given.get("max_completion_tokens"))
    requests = _requests(given, [prompt], writer, default=None, num_top=num_top)
    return Asked(
        tuple(requests),
        len(prompt),
        is_chat=True,
        stream=given.get("stream", False),
        with_usage=_with_usage(given),
        num_top=num_top if with_logprobs else None,
    )


def _requests(
    given: dict[str, Any],
    prompts: Sequence[list[int]],
    writer: Writer,
    *,
    default: int | None,
    num_top: int,
    reads: bool = False,
) -> list[Request]:
    num = given.get("n", 1)
    if not 1 <= num * len(prompts) <= _MOST_CHOICES:
        raise BadBody(f"n × prompts must be from 1 to {_MOST_CHOICES}", "n")
    seed = given.get("seed", secrets.randbelow(2**32)) % 2**32
    stops = given.get("stop", [])
    stops = [stops] if isinstance(stops, str) else stops
    if not all(isinstance(text, str) and text for text in stops) or len(stops) > 16:
        raise BadBody("stop must be up to 16 strings, none of them empty", "stop")
    constraints = _constraints(given.get("response_format"), writer, num * len(prompts))
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
        requests = []
        for place in range(num * len(prompts)):
            prompt, number = prompts[place // num], place % num
            constraint = constraints[place] if constraints else None
            requests.append(
                Request(
                    prompt,
                    _max_tokens(given.get("max_tokens", default), prompt, writer, num),
                    Choice(**choice, seed=(seed + number) % 2**32),
                    stops=writer.stops,
                    stop_texts=stops,
                    allowed=constraint.allowed if constraint else None,
                    is_over=constraint.is_over if constraint else None,
                    num_top=num_top,
                    reads_prompt=reads,
                )
            )
    except BadBody:
        raise
    except (TypeError, ValueError) as error:
        raise BadBody(str(error)) from None
    return requests


def _max_tokens(given: int | None, prompt: Sequence[int], writer: Writer, num: int) -> int:
    """As given, or what fits; `num` answers must fit together."""
    most = min(writer.context, writer.room // num) - len(prompt)
    if given is None:
        given = max(most, 1)
    if given <= writer.context - len(prompt) and given > most:
        raise BadBody(
            f"{num} × {len(prompt) + given} tokens of prompt and answer are more than the server's "
            f"{writer.room}; lower n or max_tokens",
            "max_tokens",
        )
    return given


def _constraints(asked: dict[str, Any] | None, writer: Writer, num: int) -> list[Constraint]:
    kind = None if asked is None else asked.get("type")
    if asked is None or kind == "text":
        return []
    if kind == "json_object":
        schema: Any = {"type": "object"}
    elif kind == "json_schema" and isinstance(asked.get("json_schema"), dict):
        schema = asked["json_schema"].get("schema")
    else:
        schema = None
    if not isinstance(schema, dict):
        raise BadBody(
            'response_format must be {"type": "text"}, {"type": "json_object"} or {"type": '
            '"json_schema", "json_schema": {"name": …, "schema": {…}}}',
            "response_format",
        )
    if writer.grammars is None:
        raise BadBody("this server has no JSON schemas", "response_format")
    try:
        return writer.grammars.of_schema(schema, num)
    except (ImportError, ValueError) as error:
        raise BadBody(str(error), "response_format") from None


def _with_usage(given: Mapping[str, Any]) -> bool:
    options = given.get("stream_options", {})
    wrong = options.keys() - {"include_usage", "include_obfuscation"}
    if wrong or not all(isinstance(value, bool) for value in options.values()):
        raise BadBody('stream_options must be {"include_usage": true}', "stream_options")
    return bool(options.get("include_usage", False))


def _prompts(given: Any, writer: Writer) -> tuple[list[str], list[list[int]]]:
    """One prompt or several, as texts and as tokens."""
    if given is None or given == []:
        raise BadBody("prompt must be a string, tokens, or a list of either", "prompt")
    if isinstance(given, str) or all(is_id(token) for token in given):
        given = [given]
    texts, prompts = [], []
    for one in given:
        if isinstance(one, str):
            try:
                prompts.append(prompt_tokens(writer.tokenizer, one))
            except ValueError as error:
                raise BadBody(str(error), "prompt") from None
            texts.append(one)
        elif isinstance(one, list) and all(is_id(token) for token in one):
            prompts.append(one)
            vocab = writer.tokenizer.vocab_size
            texts.append(writer.tokenizer.decode([token for token in one if 0 <= token < vocab]))
        else:
            raise BadBody("prompt must be a string, tokens, or a list of either", "prompt")
    return texts, prompts


def _messages(given: Any) -> list[dict[str, Any]]:
    """Messages for a template: parts of text become one."""
    if not given:
        raise BadBody('messages must be a list of {"role": "user", "content": "…"}', "messages")
    messages = []
    for number, message in enumerate(given):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise BadBody(f"message {number} must be an object with a role", "messages")
        content = message.get("content")
        if isinstance(content, list):
            texts = [part.get("text") if isinstance(part, dict) else None for part in content]
            content = "".join(text for text in texts if isinstance(text, str))
            if not all(isinstance(text, str) for text in texts):
                raise BadBody(f"message {number}: parts of a content must be texts", "messages")
        elif content is not None and not isinstance(content, str):
            raise BadBody(f"message {number}: content must be a string or texts", "messages")
        messages.append({**message, "content": content or ""})
    return messages


def is_id(token: Any) -> bool:
    """Whether a value of JSON may be a token."""
    return isinstance(token, int) and not isinstance(token, bool)
