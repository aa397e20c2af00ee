"""What a server offers: a model's name, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.pages.callers import Callers
from barrow.score.models.model import TextScore
from barrow.serve.http.schema import Grammars
from barrow.serve.http.service import Service
from barrow.tokens import Tokenizer
from barrow.tokens.chat import ChatTemplate

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Writer:
    """A model that writes: its engine, its tokenizer, and the ids that end a text.

    `context` is the number of its positions, `room` that of tokens in all pages.
    """

    service: Service
    tokenizer: Tokenizer
    context: int
    room: int
    stops: tuple[int, ...] = ()
    template: ChatTemplate | None = None
    grammars: Grammars | None = None


@dataclass(frozen=True)
class Embedder:
    """Vectors [n, width] of inputs: `read` checks one of them and counts its tokens.

    An input is a text, tokens, or what else the model knows. Both raise `ValueError`.
    """

    read: Callable[[Any], tuple[Any, int]]
    vectors: Callable[[Sequence[Any]], Vectors]


@dataclass(frozen=True)
class Served:
    """A model under its name; what it cannot do is None."""

    name: str
    writer: Writer | None = None
    embedder: Embedder | None = None
    score: Callable[[Sequence[bytes]], Sequence[TextScore]] | None = None


@dataclass(frozen=True)
class ServerSettings:
    """The key that callers must have, who they may be, and limits.

    - `timeout`: seconds until an answer is given up; `most_bytes`: of a body.
    """

    key: str | None = None
    callers: Callers = field(default_factory=Callers)
    timeout: float = 600.0
    most_bytes: int = 1 << 20
