"""Answers that are JSON of a schema: which tokens may come next, by the library `llguidance`."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow.errors import MissingExtra
from barrow.tokens import Tokenizer


class Grammars:
    """Makes constraints for the tokens of a model; the first takes a moment.

    `vocab` is the model's, which may have more ids than the tokenizer; `stops` end an answer.
    """

    def __init__(self, tokenizer: Tokenizer, *, vocab: int, stops: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._vocab = vocab
        self._stops = [int(token) for token in stops]

    def of_schema(self, schema: Any, num: int) -> list[Constraint]:
        """One constraint for each of `num` answers; an invalid schema is a `ValueError`."""
        library, known = self._library, self._known
        # One line: a model could write white space without end.
        grammar = library.LLMatcher.grammar_from_json_schema(
            json.dumps(schema), overrides={"whitespace_flexible": False}
        )
        matcher = library.LLMatcher(known, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(f"the schema is not valid: {matcher.get_error()[:300]}")
        return [Constraint(matcher.deep_copy(), self._vocab, self._stops) for _ in range(num)]

    @cached_property
    def _library(self) -> Any:
        try:
            return importlib.import_module("llguidance")
        except ImportError:
            raise MissingExtra("llguidance", "schema", "a JSON schema") from None

    @cached_property
    def _known(self) -> Any:
        wrapper = self._library.TokenizerWrapper(_Words(self._tokenizer, self._stops))
        return self._library.LLTokenizer(
            wrapper, n_vocab=self._vocab, eos_token=self._stops or None
        )


class _Words:
    """A tokenizer as llguidance wants it."""

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[int]) -> None:
        names = {number: name.encode() for name, number in tokenizer.specials.items()}
        self._tokenizer = tokenizer
        self.tokens = [
            names.get(token) or tokenizer.token_bytes(token)
            for token in range(tokenizer.vocab_size)
        ]
        self.special_token_ids = sorted(names)
        self.bos_token_id = tokenizer.begin
        ends = (*stops, *self.special_token_ids, tokenizer.vocab_size - 1)
        self.eos_token_id = ends[0]

    def __call__(self, text: bytes | str) -> list[int]:
        text = text.decode(errors="replace") if isinstance(text, bytes) else text
        return [int(token) for token in self._tokenizer.encode(text)]


class Constraint:
    """`allowed` and `is_over` of one request."""

    def __init__(self, matcher: Any, vocab: int, stops: Sequence[int]) -> None:
        self._matcher = matcher
        self._vocab = vocab
        self._has_stops = bool(stops)
        self._num = 0

    def allowed(self, tokens: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Tokens that keep the answer within the schema."""
        self._read(tokens)
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        if self._matcher.is_error():
            raise ValueError(f"the schema cannot be followed: {self._matcher.get_error()[:300]}")
        return np.unpackbits(bits, bitorder="little")[: self._vocab].astype(np.bool_)

    def is_over(self, tokens: Sequence[int]) -> bool:
        """Whether the JSON is complete: nothing may follow, or there is no token for its end."""
        self._read(tokens)
        if self._matcher.is_error():
            return False
        return bool(
            self._matcher.is_stopped() or (not self._has_stops and self._matcher.is_accepting())
        )

    def _read(self, tokens: Sequence[int]) -> None:
        for token in tokens[self._num :]:
            self._matcher.consume_token(token)
        self._num = len(tokens)
