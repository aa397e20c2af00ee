"""The tokenizer inside a GGUF file, as a ``tokenizer.json``.

Two kinds are supported: ``gpt2``, byte-level BPE with merges (SmolLM2, GPT-2, Llama 3, Qwen2), and
``llama``, SentencePiece BPE with scores. How a byte-level text is first split into words is not in
the file, which only names it (``tokenizer.ggml.pre``); the patterns are here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any

from barrow.config import parse_json
from barrow.errors import WeightsError
from barrow.weights.foreign_model import tokenizer_config
from barrow.weights.gguf.sentencepiece import (
    SPACE,
    added_token,
    put_around,
    scored_pieces_json,
)

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
# "seperator" is how the format spells it.
ROLES = {
    "bos_token": "bos",
    "eos_token": "eos",
    "unk_token": "unknown",
    "pad_token": "padding",
    "sep_token": "seperator",
    "cls_token": "cls",
    "mask_token": "mask",
}
# Ends besides eos: of a turn, and of a message.
ENDS = ("eot", "eom")
TEMPLATE, TEMPLATES = "tokenizer.chat_template", "tokenizer.chat_templates"
# What GGUF has no key for, as JSON: settings, and parts of the tokenizer.json.
SETTINGS, KEPT = "barrow.tokenizer_config", "barrow.tokenizer"
PARTS = ("normalizer", "pre_tokenizer", "decoder")
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")

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
_GEMMA = {
    "type": "Split",
    "pattern": {"String": " "},
    "behavior": "MergedWithPrevious",
    "invert": False,
}
# These use a word that is a piece as a whole, before merging.
_WHOLE_WORDS = ("llama-bpe",)


def name_of_cut(pre_tokenizer: object) -> str | None:
    """How a tokenizer.json splits words, as ``tokenizer.ggml.pre`` names it; None if unknown."""
    found = _plain(pre_tokenizer)
    return next((name for name, cut in _CUTS.items() if _plain(cut) == found), None)


def leading_space(table: Mapping[str, Any]) -> bool | None:
    """Tell whether a space is put before a text; None unless it is of SentencePiece's kind."""
    links = [*_links(table.get("normalizer")), *_links(table.get("pre_tokenizer"))]
    put = [link for link in links if link == {"type": "Prepend", "prepend": SPACE}]
    spaced = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    metaspace = [
        link for link in links if link["type"] == "Metaspace" and link.get("split") is False
    ]
    put += [link for link in metaspace if link.get("prepend_scheme") != "never"]
    # Gemma cuts at spaces that are no more: its normalizer has replaced them.
    others = [link for link in links if link not in (*put, *metaspace, spaced, _GEMMA)]
    return None if others or not (metaspace or spaced in links) else bool(put)


def _links(part: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    inside = [] if part is None else [part]
    if part is not None and part["type"] == "Sequence":
        inside = next(value for value in part.values() if isinstance(value, list))
    return inside


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
    types = _of_each(metadata, "token_type", len(pieces), path) or [NORMAL] * len(pieces)
    if kind not in ("gpt2", "llama"):
        raise WeightsError(
            f"tokenizer kind {kind!r} is not supported (gpt2 and llama are); pass a tokenizer.json",
            path=path,
        )
    try:
        make = _merged if kind == "gpt2" else _scored
        table = make(metadata, pieces, types, path)
    except ValueError as error:
        raise WeightsError(str(error), path=path) from None
    try:
        return _as_it_was(table, metadata, path)
    except (LookupError, TypeError, AttributeError, StopIteration) as error:
        raise WeightsError(f"{KEPT} or {SETTINGS} is damaged: {error!r}", path=path) from None


def _as_it_was(
    table: dict[str, Any], metadata: Mapping[str, Any], path: str | PathLike[str]
) -> dict[str, Any]:
    """The tokenizer with what `write_gguf` kept of it, unless the file's own keys differ by now."""
    said = _kept(metadata, SETTINGS, path).get("added_tokens_decoder", {})
    added = [
        token | {flag: bool(said.get(str(token["id"]), {}).get(flag)) for flag in _FLAGS}
        for token in table["added_tokens"]
    ]
    kept = {key: part for key, part in _kept(metadata, KEPT, path).items() if key in PARTS}
    before = {key: table[key] for key in kept}
    is_same = name_of_cut(kept.get("pre_tokenizer")) == name_of_cut(before.get("pre_tokenizer"))
    is_same = is_same and leading_space(kept) == leading_space(before)
    return {**table, **(kept if is_same else {}), "added_tokens": added}


def gguf_tokenizer_config(
    metadata: Mapping[str, Any], *, max_length: int, path: str | PathLike[str]
) -> dict[str, Any]:
    """``tokenizer_config.json`` beside that ``tokenizer.json``: special tokens by their role."""
    kept = _kept(metadata, SETTINGS, path)
    # The file's own keys come first, since programs change them; a role may be none by intention.
    special = {
        role: metadata["tokenizer.ggml.tokens"][number]
        for role, number in special_ids(metadata, path).items()
        if role in ROLES and (role not in kept or kept[role] is not None)
    }
    template = _templates(metadata)
    if kept:
        return {**kept, **special, **({} if template is None else {"chat_template": template})}
    begin, end = _edges(metadata, len(metadata["tokenizer.ggml.tokens"]))
    config = tokenizer_config(
        special=special,
        begins=begin is not None,
        ends=end is not None,
        max_length=max_length,
        chat_template=template,
    )
    if (spaced := metadata.get("tokenizer.ggml.add_space_prefix")) is not None:
        config["add_prefix_space"] = bool(spaced)
    return config


def special_ids(metadata: Mapping[str, Any], path: str | PathLike[str]) -> dict[str, int]:
    """Ids by role, those of `ROLES` and `ENDS`."""
    pieces, found = metadata["tokenizer.ggml.tokens"], {}
    for role, name in (*ROLES.items(), *((end, end) for end in ENDS)):
        number = metadata.get(f"tokenizer.ggml.{name}_token_id")
        if number is None:
            continue
        if type(number) is not int or not 0 <= number < len(pieces):
            raise WeightsError(f"{name}_token_id {number!r} is past the pieces", path=path)
        found[role] = number
    return found


def _templates(metadata: Mapping[str, Any]) -> str | list[dict[str, str]] | None:
    """The chat template, or several by name."""
    template = metadata.get(TEMPLATE)
    template = template if isinstance(template, str) else None
    names = metadata.get(TEMPLATES)
    if not isinstance(names, list) or not names:
        return template
    named = {"default": template, **{n: metadata.get(f"{TEMPLATE}.{n}") for n in map(str, names)}}
    found = {name: text for name, text in named.items() if isinstance(text, str)}
    return [{"name": name, "template": text} for name, text in found.items()]


def _kept(metadata: Mapping[str, Any], key: str, path: str | PathLike[str]) -> dict[str, Any]:
    if key not in metadata:
        return {}
    kept = parse_json(str(metadata[key]), key, error=partial(WeightsError, path=path))
    if not isinstance(kept, dict):
        raise WeightsError(f"{key} is not a JSON object", path=path)
    return kept


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
    used = {piece: i for piece, i in vocab.items() if types[i] != UNUSED}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            added_token(number, piece, special=kind == CONTROL)
            for number, (piece, kind) in enumerate(zip(pieces, types, strict=True))
            if kind in (CONTROL, USER_DEFINED)
        ],
        "normalizer": {"type": "NFC"} if cut == "qwen2" else None,
        "pre_tokenizer": dict(_CUTS[cut]),
        "post_processor": put_around(*_edges(metadata, len(pieces)), pieces),
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
            "vocab": used,
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
    special = {number for number, kind in enumerate(types) if kind == CONTROL}
    begin, end = _edges(metadata, len(pieces))
    return scored_pieces_json(
        pieces,
        scores,
        special=sorted(special | ({unknown} if unknown is not None else set())),
        unknown=unknown,
        begin=begin,
        end=end,
        leading_space=bool(metadata.get("tokenizer.ggml.add_space_prefix", True)),
        user_defined=[number for number, kind in enumerate(types) if kind == USER_DEFINED],
        unused={number for number, kind in enumerate(types) if kind == UNUSED},
    )


def _edges(metadata: Mapping[str, Any], num_pieces: int) -> tuple[int | None, int | None]:
    """The tokens that a text begins and ends with, where it does."""
    # The default of SentencePiece models.
    begins = metadata["tokenizer.ggml.model"] == "llama"
    found: list[int | None] = []
    for name, usual in (("bos", begins), ("eos", False)):
        number = metadata.get(f"tokenizer.ggml.{name}_token_id")
        if not metadata.get(f"tokenizer.ggml.add_{name}_token", usual) or number is None:
            found.append(None)
        elif type(number) is int and 0 <= number < num_pieces:
            found.append(number)
        else:
            raise ValueError(f"{name}_token_id {number!r} is past the pieces")
    return found[0], found[1]


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
