"""The bytes of each id of a `tokenizer.json`, where the file has them.

Three kinds have them: byte-level ones, whose tokens are spelled in the byte alphabet; those of
SentencePiece, whose tokens are text with ▁ for a space and `<0x0A>` for a lone byte; and those that
cut nothing beforehand, whose tokens are plain text. The others drop spaces, or write the end of a
word as `</w>`, so that the text cannot be known from the tokens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barrow.errors import TokenizerError
from barrow.tokens.byte_alphabet import unspelled
from barrow.tokens.tokenizer_json import TokenizerJson, components

_LONE_BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")
_SPACE = "▁"
# Pre-tokenizers that only split; the others drop the separators.
_CUTTING = ("ByteLevel", "Metaspace", "Digits", "Punctuation", "UnicodeScripts", "Split")


@dataclass(frozen=True)
class TokenBytes:
    """The bytes of every id, and whether a space is put before every text."""

    table: tuple[bytes, ...]
    space_first: bool


def token_bytes(file: TokenizerJson) -> TokenBytes:
    """Raises `TokenizerError`, which names the kind, where the file does not have them."""
    links = [*components(file.data.get("normalizer")), *components(file.data.get("pre_tokenizer"))]
    spelling = _spelling(file, links)
    table = [b""] * file.vocab_size
    for number, token in file.vocab.items():
        table[number] = spelling(token)
    for added in file.added:
        table[added.id] = b"" if added.special else added.content.encode()
    return TokenBytes(tuple(table), any(_puts_space_first(link) for link in links))


def _spelling(file: TokenizerJson, links: list[Mapping[str, Any]]) -> Any:
    model = file.model
    kind = model["type"]
    if kind in ("WordPiece", "WordLevel"):
        raise _unknown(f"{kind} tokens do not record where spaces were")
    for key in ("end_of_word_suffix", "continuing_subword_prefix"):
        if model.get(key):
            raise _unknown(f"BPE with {key} {model[key]!r} does not record where spaces were")
    for link in components(file.data.get("pre_tokenizer")):
        if link["type"] not in _CUTTING or link.get("behavior") == "Removed":
            raise _unknown(f"the pre-tokenizer {link['type']} drops what it cuts at")
    if any(link["type"] == "ByteLevel" for link in links):
        return _byte_level
    has_bytes = bool(model.get("byte_fallback"))
    space = _SPACE if any(_replaces_spaces(link) for link in links) else None
    return lambda token: _piece(token, space, has_bytes)


def _byte_level(token: str) -> bytes:
    data = unspelled(token)
    # Names such as <|endoftext|> are spelled too; only what cannot be spelled is left.
    return token.encode() if data is None else data


def _piece(token: str, space: str | None, has_bytes: bool) -> bytes:
    lone = _LONE_BYTE.fullmatch(token) if has_bytes else None
    if lone is not None:
        return bytes([int(lone[1], 16)])
    return (token if space is None else token.replace(space, " ")).encode()


def _replaces_spaces(link: Mapping[str, Any]) -> bool:
    if link["type"] == "Metaspace":
        return True
    return link["type"] == "Replace" and link.get("content") == _SPACE


def _puts_space_first(link: Mapping[str, Any]) -> bool:
    if link["type"] == "Prepend":
        return link.get("prepend") in (_SPACE, " ")
    if link["type"] == "Metaspace":
        scheme = link.get("prepend_scheme")
        return scheme in ("always", "first") or (scheme is None and bool(link["add_prefix_space"]))
    return link["type"] == "ByteLevel" and bool(link.get("add_prefix_space"))


def _unknown(why: str) -> TokenizerError:
    return TokenizerError(
        f"this tokenizer does not give the bytes of an id: {why}; use a byte-level or a "
        "SentencePiece one where bytes are counted"
    )
