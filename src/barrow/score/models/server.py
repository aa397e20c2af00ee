"""Models of an OpenAI-compatible server, scored by the log-probabilities of a prompt.

``/v1/completions`` with ``echo`` and ``logprobs`` gives the log-probability of every token of the
prompt given those before. With a tokenizer, prompts are rows of ids (`ServerTokens`, under any
protocol); without one they are whole documents as text (`ServerModel`), and the server returns its
tokens.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.ahead import map_ahead
from barrow.errors import ScoreError
from barrow.score.models.completions import Refused, ServerSettings, ask
from barrow.score.models.model import Model, ModelInfo, TextScore
from barrow.score.models.token_alignment import is_partial, spread, token_ends
from barrow.tokens import Tokenizer

_BYTE_NATS = 8 * math.log(2)


@dataclass(frozen=True)
class Server:
    """A server that was probed: `model` is its name for the model, `max_length` the tokens it sees
    if known, `num_drawn` the tokens it always generates after the prompt.
    """

    settings: ServerSettings
    model: str
    max_length: int | None
    num_drawn: int

    def prompt_log_probs(self, prompt: str | list[int]) -> Mapping[str, Any]:
        """`tokens` and `token_logprobs` of a prompt, and of what was drawn after it."""
        answer = _complete(self.settings, self.model, prompt, self.num_drawn)
        return _log_probs(answer, self.settings)

    @property
    def info(self) -> ModelInfo:
        """What the server reports about the model."""
        text = f"{self.settings.base}\n{self.model}"
        about = {"url": self.settings.base, "drawn": self.num_drawn}
        identity = hashlib.sha256(text.encode()).hexdigest()
        return ModelInfo(self.model, "server", identity, about=about)


def open_server(settings: ServerSettings) -> Server:
    """Ask a server for its models, and whether it can score a prompt."""
    model, max_length = _model(settings)
    for num_drawn in (0, 1):
        try:
            _log_probs(_complete(settings, model, "a b", num_drawn), settings)
        except Refused as error:
            # Some refuse requests for 0 tokens.
            if num_drawn or error.status not in (400, 422):
                raise
        else:
            return Server(settings, model, max_length, num_drawn)
    raise AssertionError("the last try returns or raises")


class ServerTokens:
    """A `TokenModel`: rows of ids to a server whose tokenizer is known."""

    def __init__(
        self, server: Server, tokenizer: Tokenizer, *, max_length: int | None = None
    ) -> None:
        own = server.max_length
        # A row has one id more than is seen, and generated tokens take room too.
        own = None if own is None else own - 1 - server.num_drawn
        self._server = server
        self.tokenizer = tokenizer
        self.max_length = own if max_length is None else max_length

    def log_probs(self, rows: Sequence[npt.NDArray[np.int32]]) -> Sequence[npt.NDArray[np.float64]]:
        """For each row of n ids, n − 1 natural logarithms: of ids[1:], given all before."""
        threads = self._server.settings.concurrency
        return list(map_ahead(self._row, rows, threads=threads))

    def _row(self, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
        if len(ids) < 2:
            return np.empty(0)
        found = self._server.prompt_log_probs(ids.tolist())["token_logprobs"]
        expected = len(ids) + self._server.num_drawn
        # It may generate fewer than requested, if the first one ends the text.
        if not len(ids) <= len(found) <= expected:
            raise ScoreError(
                f"the server returned {len(found):,} log-probabilities for {len(ids):,} "
                "tokens: does it use another tokenizer, or a shorter context?"
            )
        return _numbers(found[1 : len(ids)])


class ServerModel(Model):
    """Whole documents as text, to a server whose tokenizer is not known.

    The first token of a document has no log-probability: its bytes cost 8 bits each, as with
    `uniform`, unless `vocab_size` is known. A token that the server puts before the text costs
    nothing.
    """

    def __init__(self, server: Server, *, vocab_size: int | None = None) -> None:
        if vocab_size is not None and vocab_size < 2:
            raise ValueError(f"vocab_size must be ≥ 2, got {vocab_size}")
        self._server = server
        self._first = None if vocab_size is None else math.log(vocab_size)
        charged = "8 bits a byte" if vocab_size is None else f"log2 {vocab_size}"
        about = {**server.info.about, "first_token": charged}
        self.info = ModelInfo(
            server.info.name, "server", server.info.identity, tokenizer=None, about=about
        )

    def score(self, texts: Sequence[bytes]) -> list[TextScore]:
        """The scores of documents, in order."""
        return list(map_ahead(self._one, texts, threads=self._server.settings.concurrency))

    def _one(self, data: bytes) -> TextScore:
        if not data:
            return TextScore(0.0, 0, np.empty(0))
        text = data.decode()
        found = self._server.prompt_log_probs(text)
        tokens, logs = list(found["tokens"]), list(found["token_logprobs"])
        if len(tokens) != len(logs):
            raise ScoreError(
                f"the server returned {len(logs):,} log-probabilities for {len(tokens):,} tokens"
            )
        count = found["usage"].get("prompt_tokens")
        number = count if isinstance(count, int) else len(tokens) - self._server.num_drawn
        if len(tokens) < number:
            raise ScoreError(
                f"the server returned {len(logs):,} log-probabilities for {number:,} tokens"
            )
        tokens, logs = _without_prefix(text, tokens[:number], logs[:number])
        ends = token_ends(text, tokens)
        if logs and logs[0] is None:
            first = len(text[: int(ends[0])].encode()) * _BYTE_NATS
            logs[0] = -first if self._first is None else -self._first
        nats = -_numbers(logs)
        byte_nats = spread(text, ends, nats)
        return TextScore(float(nats.sum()), len(nats), byte_nats, "offsets")


def _model(settings: ServerSettings) -> tuple[str, int | None]:
    """The server's name for the model, and its length."""
    try:
        listed = ask(settings, "models")["data"]
        entries = {entry["id"]: entry for entry in listed}
    except Refused as error:
        if settings.model is None or error.status not in (404, 405, 501):
            raise
        return settings.model, None
    except (KeyError, TypeError):
        raise ScoreError(f"{settings.base}/models does not list models") from None
    names = ", ".join(map(repr, entries))
    if settings.model is None and len(entries) != 1:
        raise ValueError(f"{settings.base} has {len(entries)} models: choose one of {names}")
    name = settings.model or next(iter(entries))
    if name not in entries:
        raise ValueError(f"{settings.base} has no model {name!r}; it has {names}")
    length = entries[name].get("max_model_len")
    return name, length if isinstance(length, int) and length > 0 else None


def _complete(settings: ServerSettings, model: str, prompt: str | list[int], num_drawn: int) -> Any:
    body = {"model": model, "prompt": prompt, "max_tokens": num_drawn, "echo": True}
    return ask(settings, "completions", {**body, "logprobs": 1, "temperature": 0})


def _log_probs(answer: Any, settings: ServerSettings) -> Mapping[str, Any]:
    try:
        found = answer["choices"][0]["logprobs"]
        tokens, logs = found["tokens"], found["token_logprobs"]
        if isinstance(tokens, list) and isinstance(logs, list) and logs:
            usage = answer.get("usage") or {}
            return {"tokens": tokens, "token_logprobs": logs, "usage": usage}
    except (KeyError, IndexError, TypeError):
        pass
    raise ScoreError(
        f"{settings.base}/completions returned no log-probabilities of the prompt: it must "
        "support echo together with logprobs, as vLLM does"
    )


def _without_prefix(text: str, tokens: list[str], logs: list[Any]) -> tuple[list[str], list[Any]]:
    """Without a first token that the server added to the text."""
    if len(tokens) < 2 or logs[0] is not None or logs[1] is None or is_partial(tokens[0]):
        return tokens, logs
    is_text = tokens[0] and text.startswith(tokens[0])
    return (tokens, logs) if is_text else (tokens[1:], logs[1:])


def _numbers(logs: Sequence[Any]) -> npt.NDArray[np.float64]:
    for value in logs:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not -math.inf < value < 0.01
        ):
            raise ScoreError(
                f"the server's log-probability of a token must be finite and ≤ 0, got {value!r}"
            )
    return np.minimum(np.array(logs, np.float64), 0.0)
