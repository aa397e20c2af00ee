"""Text in and text out: the tokenizer of a model, prompts as tokens, tokens as growing text."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barrow.errors import NotFound

if TYPE_CHECKING:
    from barrow.tokens import Tokenizer


def open_tokenizer(
    where: str | Path | Mapping[str, Any] | None, *, settings: Mapping[str, Any] | None = None
) -> Tokenizer:
    """The tokenizer at a path, or of the contents of a tokenizer.json, as `Loaded` has it.

    `settings` are those of a tokenizer_config.json, for contents; a path has its own beside it.
    """
    # Imported here: tokenizers need libraries that a training machine may lack.
    import barrow.tokens
    from barrow.tokens.tokenizer_json import check

    if where is None:
        raise NotFound(
            "the model has no tokenizer beside it (tokenizer.json, vocab.json and "
            "merges.txt, or tok*.bin); pass one"
        )
    if isinstance(where, Mapping):
        return barrow.tokens.JsonTokenizer(check(where, "the model's tokenizer"), settings=settings)
    return barrow.tokens.load(where)


def prompt_tokens(tokenizer: Tokenizer, prompt: str, *, begin: bool = True) -> list[int]:
    """A prompt as `transformers` has it: what the tokenizer puts around it, and special tokens.

    Without `begin` nothing is put around it. A prompt without ids is the token that begins a
    document.
    """
    found = tokenizer.encode_prompt(prompt) if begin else tokenizer.encode_named(prompt)[0]
    ids: list[int] = found.tolist()
    if begin and not ids and tokenizer.begin is not None:
        return [tokenizer.begin]
    if not ids:
        raise ValueError(
            "the prompt is empty"
            + ("" if begin else ", and without the begin token")
            + " there is nothing to continue"
            + (": the tokenizer has no begin token" if tokenizer.begin is None else "")
        )
    return ids


def text_pieces(
    tokenizer: Tokenizer, pieces: Iterable[Sequence[int]], *, prompt: Sequence[int]
) -> Iterator[str]:
    """The text of tokens as they arrive; a character in several tokens waits for the last of them.

    `prompt` are the tokens before them. Where it has no text, the text begins here, and a space
    that the tokenizer puts before every text is removed. Bytes that are not UTF-8 become U+FFFD.
    """
    growing = GrowingText(tokenizer, prompt)
    for piece in pieces:
        if text := growing.add(piece):
            yield text
    if rest := growing.end():
        yield rest


class GrowingText:
    """The text of tokens as they arrive (see `text_pieces`)."""

    def __init__(self, tokenizer: Tokenizer, prompt: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begins = not any(map(tokenizer.token_bytes, prompt))

    def add(self, tokens: Sequence[int]) -> str:
        """The text that more tokens complete."""
        data = b"".join(self._tokenizer.token_bytes(int(token)) for token in tokens)
        if self._begins and data:
            data, self._begins = self._tokenizer.decode_bytes(tokens), False
        return self._decoder.decode(data)

    def end(self) -> str:
        """What an incomplete character at the end becomes."""
        return self._decoder.decode(b"", final=True)
