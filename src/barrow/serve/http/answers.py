"""Answers as OpenAI's completions and chat completions show them, whole or in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barrow.serve.http.body import Asked
from barrow.serve.http.service import Piece
from barrow.serve.requests import Likeliest
from barrow.tokens import Tokenizer


class Shown:
    """One choice: its number, what was asked, and how far it was shown."""

    def __init__(self, number: int, asked: Asked, tokenizer: Tokenizer) -> None:
        self._number = number
        self._asked = asked
        self._tokenizer = tokenizer
        self._names = {token: name for name, token in tokenizer.specials.items()}
        self._offset = 0
        self._is_begun = False

    def choice(self, pieces: Sequence[Piece], *, is_part: bool) -> dict[str, Any]:
        """Pieces of the answer; `is_part`: they are an event of a stream."""
        text = "".join(piece.text for piece in pieces)
        is_first, self._is_begun = not self._is_begun, True
        made: dict[str, Any] = {"index": self._number}
        logprobs = None
        if self._asked.is_chat:
            message: dict[str, Any] = {}
            if is_first or not is_part:
                message["role"] = "assistant"
            if text or is_first or not is_part:
                message["content"] = text
            made["delta" if is_part else "message"] = message
            if self._asked.num_top is not None:
                logprobs = {"content": [one for piece in pieces for one in self._content(piece)]}
                logprobs["refusal"] = None  # type: ignore[assignment]
        else:
            if is_first and self._asked.echo is not None:
                text = self._asked.echo[self._number] + text
            made["text"] = text
            if self._asked.num_top is not None:
                logprobs = self._lists(pieces, is_first=is_first)
        return {**made, "logprobs": logprobs, "finish_reason": pieces[-1].reason}

    def _content(self, piece: Piece) -> list[dict[str, Any]]:
        """Log-probabilities as chat completions have them."""
        tops: Sequence[Likeliest] = piece.top or [()] * len(piece.tokens)
        return [
            {**self._one(token, number), "top_logprobs": [self._one(*each) for each in top]}
            for token, number, top in zip(piece.tokens, piece.logprobs, tops, strict=True)
        ]

    def _one(self, token: int, logprob: float) -> dict[str, Any]:
        data = self._bytes(token)
        return {"token": _word(data), "logprob": logprob, "bytes": list(data)}

    def _lists(self, pieces: Sequence[Piece], *, is_first: bool) -> dict[str, Any]:
        """Log-probabilities as completions have them; those of the prompt first."""
        tokens: list[int] = []
        numbers: list[float | None] = []
        tops: list[Likeliest | None] = []
        if is_first and pieces[0].prompt is not None:
            prompt = pieces[0].prompt
            tokens += self._asked.requests[self._number].prompt
            numbers += [None, *prompt.logprobs]
            tops += [None, *prompt.top]
        for piece in pieces:
            tokens += piece.tokens
            numbers += piece.logprobs
            tops += piece.top or [()] * len(piece.tokens)
        words, offsets = [], []
        for token in tokens:
            data = self._bytes(token)
            words.append(_word(data))
            offsets.append(self._offset)
            # Special tokens are not in the text.
            if token not in self._names:
                self._offset += sum(byte & 0xC0 != 0x80 for byte in data)
        likely = None
        if self._asked.num_top:
            likely = [
                None if top is None else self._table(word, number, top)
                for word, number, top in zip(words, numbers, tops, strict=True)
            ]
        return {
            "tokens": words,
            "token_logprobs": numbers,
            "top_logprobs": likely,
            "text_offset": offsets,
        }

    def _table(self, word: str, number: float | None, top: Likeliest) -> dict[str, float]:
        """The likeliest by their names, and the token itself; of one name, the likelier."""
        found: dict[str, float] = {}
        for token, logprob in top:
            found.setdefault(_word(self._bytes(token)), logprob)
        if number is not None:
            found.setdefault(word, number)
        return found

    def _bytes(self, token: int) -> bytes:
        name = self._names.get(token)
        if name is not None:
            return name.encode()
        known = token < self._tokenizer.vocab_size
        return self._tokenizer.token_bytes(token) if known else b""


def _word(data: bytes) -> str:
    """Bytes as text, those that are not as OpenAI writes them."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
