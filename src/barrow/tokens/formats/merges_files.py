"""Tokenizers in GPT-2's two files: the vocabulary as JSON, and the merges line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from barrow.config import parse_json
from barrow.errors import TokenizerError
from barrow.tokens.byte_alphabet import unspelled
from barrow.tokens.patterns import pre_tokenizer
from barrow.tokens.tokenizer_json import byte_level_bpe

_OF_GPT2 = ("<|endoftext|>", "<|pad|>", "<|mask|>")
_OF_ROBERTA = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


def read_merges_files(vocab: bytes, merges: bytes, where: str) -> dict[str, Any]:
    """The contents of a `tokenizer.json` that encodes as the two files do.

    The files do not list special tokens. With `<s>` and `</s>` they are RoBERTa's, and a
    document is put between these two; otherwise they are GPT-2's.
    """
    tokens = _vocabulary(vocab, where)
    pairs = _pairs(merges, where)
    if "<s>" in tokens and "</s>" in tokens:
        return as_roberta(tokens, pairs)
    specials = {name: tokens[name] for name in _OF_GPT2 if name in tokens}
    return byte_level_bpe(tokens, pairs, pre_tokenizer=pre_tokenizer("gpt2"), specials=specials)


def as_roberta(tokens: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The contents of a `tokenizer.json` of RoBERTa's kind, with its special tokens by name."""
    specials = {name: tokens[name] for name in _OF_ROBERTA if name in tokens}
    made = byte_level_bpe(
        tokens,
        merges,
        pre_tokenizer=pre_tokenizer("gpt2"),
        specials=specials,
        post_processor={
            "type": "RobertaProcessing",
            "sep": ["</s>", specials["</s>"]],
            "cls": ["<s>", specials["<s>"]],
            "trim_offsets": True,
            "add_prefix_space": False,
        },
    )
    # "the <mask>" is "the word" masked: the space before a word belongs to it.
    hiding = [token for token in made["added_tokens"] if token["content"] == "<mask>"]
    for token in hiding:
        token["lstrip"] = True
    return made


def _vocabulary(data: bytes, where: str) -> dict[str, int]:
    tokens = parse_json(data, f"{where}: the vocabulary", error=TokenizerError)
    if not isinstance(tokens, dict) or not all(isinstance(v, int) for v in tokens.values()):
        raise TokenizerError(f"{where}: expected a JSON object of token to id")
    strange = next((token for token in tokens if unspelled(token) is None), None)
    if strange is not None:
        raise TokenizerError(
            f"{where}: {strange!r} is not in the byte alphabet; only byte-level "
            "vocabularies come as two files"
        )
    return tokens


def _pairs(data: bytes, where: str) -> list[tuple[str, str]]:
    pairs = []
    for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
        line = line.rstrip("\r")
        if not line or (number == 1 and line.startswith("#version")):
            continue
        parts = line.split(" ")
        if len(parts) != 2 or not all(parts):
            raise TokenizerError(
                f"{where}: line {number} of the merges must be two tokens, got {line[:60]!r}"
            )
        pairs.append((parts[0], parts[1]))
    return pairs
