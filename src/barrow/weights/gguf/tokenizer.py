"""The tokenizer inside a GGUF file, as a ``tokenizer.json``.

Two kinds are supported: ``gpt2``, byte-level BPE with merges (SmolLM2, GPT-2, Llama 3, Qwen2), and
``llama``, SentencePiece BPE with scores. How a byte-level text is first split into words is not in
the file, which only names it (``tokenizer.ggml.pre``); the patterns are here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from barrow.errors import WeightsError
from barrow.weights.foreign_model import tokenizer_config
from barrow.weights.gguf.sentencepiece import added_token, begun_by, scored_pieces_json

_CONTROL, _USER_DEFINED = 3, 4
_ROLES = {
    "bos_token": "bos",
    "eos_token": "eos",
    "unk_token": "unknown",
    "pad_token": "padding",
}

_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def _byte_level(*, use_regex: bool) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def _cut(pattern: str) -> dict[str, Any]:
    split = {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    return {"type": "Sequence", "pretokenizers": [split, _byte_level(use_regex=False)]}


_GPT2 = _byte_level(use_regex=True)
_DIGITS = {
    "type": "Sequence",
    "pretokenizers": [{"type": "Digits", "individual_digits": True}, _GPT2],
}
_CUTS: Mapping[str, Mapping[str, Any]] = {
    "gpt-2": _GPT2,
    "smollm": _DIGITS,
    "llama-bpe": _cut(_LLAMA3),
    "qwen2": _cut(_QWEN2),
}
# These use a word that is a piece as a whole, before merging.
_WHOLE_WORDS = ("llama-bpe",)


def name_of_cut(pre_tokenizer: object) -> str | None:
    """How a tokenizer.json splits words, as ``tokenizer.ggml.pre`` names it; None if unknown."""
    found = _plain(pre_tokenizer)
    return next((name for name, cut in _CUTS.items() if _plain(cut) == found), None)


def _plain(cut: object) -> object:
    """Without what changes no ids."""
    if isinstance(cut, Mapping):
        return {k: _plain(v) for k, v in cut.items() if k != "trim_offsets"}
    return [_plain(one) for one in cut] if isinstance(cut, list) else cut


def gguf_tokenizer(
    metadata: Mapping[str, Any], *, path: str | PathLike[str]
) -> dict[str, Any] | None:
    """The tokenizer that a file's metadata describes; None if it describes none."""
    kind = metadata.get("tokenizer.ggml.model")
    if kind is None:
        return None
    pieces = metadata.get("tokenizer.ggml.tokens")
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise WeightsError("tokenizer.ggml.tokens is not a list of strings", path=path)
    types = _of_each(metadata, "token_type", len(pieces), path) or [1] * len(pieces)
    try:
        if kind == "gpt2":
            return _merged(metadata, pieces, types, path)
        if kind == "llama":
            return _scored(metadata, pieces, types, path)
    except ValueError as error:
        raise WeightsError(str(error), path=path) from None
    raise WeightsError(
        f"tokenizer kind {kind!r} is not supported (gpt2 and llama are); pass a tokenizer.json",
        path=path,
    )


def gguf_tokenizer_config(
    metadata: Mapping[str, Any], *, max_length: int, path: str | PathLike[str]
) -> dict[str, Any]:
    """``tokenizer_config.json`` beside that ``tokenizer.json``: special tokens by their role."""
    pieces = metadata["tokenizer.ggml.tokens"]
    special = {}
    for role, name in _ROLES.items():
        number = metadata.get(f"tokenizer.ggml.{name}_token_id")
        if number is None:
            continue
        if type(number) is not int or not 0 <= number < len(pieces):
            raise WeightsError(f"{name}_token_id {number!r} is past the pieces", path=path)
        special[role] = pieces[number]
    template = metadata.get("tokenizer.chat_template")
    return tokenizer_config(
        special=special,
        begins=_begin(metadata, len(pieces)) is not None,
        max_length=max_length,
        chat_template=template if isinstance(template, str) else None,
    )


def _merged(
    metadata: Mapping[str, Any],
    pieces: Sequence[str],
    types: Sequence[int],
    path: str | PathLike[str],
) -> dict[str, Any]:
    cut = metadata.get("tokenizer.ggml.pre")
    if not isinstance(cut, str) or cut not in _CUTS:
        raise WeightsError(
            f"tokenizer.ggml.pre is {cut!r}; {', '.join(_CUTS)} are supported; pass a "
            "tokenizer.json",
            path=path,
        )
    vocab = {piece: number for number, piece in enumerate(pieces)}
    if len(vocab) < len(pieces):
        raise ValueError("tokenizer.ggml.tokens has a duplicate piece")
    merges = []
    lines = metadata.get("tokenizer.ggml.merges", [])
    if not isinstance(lines, list):
        raise ValueError("tokenizer.ggml.merges is not a list of strings")
    for merge in lines:
        # A piece must not contain a space: byte-level pieces write it as Ġ.
        left, space, right = str(merge).partition(" ")
        if not space or left not in vocab or right not in vocab or left + right not in vocab:
            raise ValueError(f"merge {merge!r} does not join two pieces into a piece")
        merges.append([left, right])
    begin = _begin(metadata, len(pieces))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            added_token(number, piece, special=kind == _CONTROL)
            for number, (piece, kind) in enumerate(zip(pieces, types, strict=True))
            if kind in (_CONTROL, _USER_DEFINED)
        ],
        "normalizer": {"type": "NFC"} if cut == "qwen2" else None,
        "pre_tokenizer": dict(_CUTS[cut]),
        "post_processor": None if begin is None else begun_by(begin, pieces[begin]),
        "decoder": _byte_level(use_regex=True),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": cut in _WHOLE_WORDS,
            "vocab": vocab,
            "merges": merges,
        },
    }


def _scored(
    metadata: Mapping[str, Any],
    pieces: Sequence[str],
    types: Sequence[int],
    path: str | PathLike[str],
) -> dict[str, Any]:
    scores = _of_each(metadata, "scores", len(pieces), path)
    if scores is None:
        raise ValueError("tokenizer.ggml.scores is missing")
    unknown = metadata.get("tokenizer.ggml.unknown_token_id")
    if unknown is not None and (type(unknown) is not int or not 0 <= unknown < len(pieces)):
        raise ValueError(f"unknown_token_id {unknown!r} is past the {len(pieces):,} pieces")
    named = {number for number, kind in enumerate(types) if kind in (_CONTROL, _USER_DEFINED)}
    return scored_pieces_json(
        pieces,
        scores,
        special=sorted(named | ({unknown} if unknown is not None else set())),
        unknown=unknown,
        begin=_begin(metadata, len(pieces)),
        leading_space=bool(metadata.get("tokenizer.ggml.add_space_prefix", True)),
    )


def _begin(metadata: Mapping[str, Any], num_pieces: int) -> int | None:
    """The token that a text begins with, if it begins with one."""
    # The default of SentencePiece models.
    begins = metadata.get(
        "tokenizer.ggml.add_bos_token", metadata["tokenizer.ggml.model"] == "llama"
    )
    number = metadata.get("tokenizer.ggml.bos_token_id")
    if not begins or number is None:
        return None
    if type(number) is not int or not 0 <= number < num_pieces:
        raise ValueError(f"bos_token_id {number!r} is past the pieces")
    return number


def _of_each(
    metadata: Mapping[str, Any], name: str, count: int, path: str | PathLike[str]
) -> list[Any] | None:
    values = metadata.get(f"tokenizer.ggml.{name}")
    if values is None:
        return None
    if not hasattr(values, "tolist") or len(values) != count:
        raise WeightsError(
            f"tokenizer.ggml.{name} is not {count:,} numbers, one for each piece", path=path
        )
    return list(values.tolist())
