"""The standard file of tokenizers, `tokenizer.json`: checked, named by a hash, and made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from barrow.config import parse_json
from barrow.errors import TokenizerError
from barrow.tokens.bounds import refuse_unsafe

_MODELS = ("BPE", "Unigram", "WordPiece", "WordLevel")
# Defaults of components.
_DEFAULTS = {"use_regex": True, "split": True}
_NO_MATTER = ("trim_offsets",)
_MAX_DEPTH = 100


@dataclass(frozen=True)
class AddedToken:
    """A token outside the model's vocabulary; `special` ones are never found in a text."""

    id: int
    content: str
    special: bool
    flags: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TokenizerJson:
    """The checked contents of a `tokenizer.json`.

    `vocab` are the model's tokens by id, `added` those beside it, by id. `data` is the whole file
    without what cuts, pads or randomly changes the ids of a text; `where` names it in errors.
    """

    data: Mapping[str, Any]
    vocab: Mapping[int, str]
    added: tuple[AddedToken, ...]
    where: str

    @property
    def model(self) -> Mapping[str, Any]:
        model: Mapping[str, Any] = self.data["model"]
        return model

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""
        return max([*self.vocab, *(token.id for token in self.added)]) + 1

    @cached_property
    def hash(self) -> str:
        """The sha256 of all that determines the ids of a text, in a form that does not depend
        on which version of a library wrote the file.
        """
        model = {key: value for key, value in self.model.items() if key not in ("vocab", "merges")}
        # Some files list special tokens in the vocabulary as well; no merge leads to them.
        merging = model["type"] == "BPE" and not model.get("ignore_merges")
        aside = {token.id for token in self.added if token.special and merging}
        meaning = {
            "model": _plain(model),
            "vocab": sorted(item for item in self.vocab.items() if item[0] not in aside),
            "scores": [score for _, score in self.model["vocab"]]
            if self.model["type"] == "Unigram"
            else None,
            "merges": [list(_pair(merge)) for merge in self.model.get("merges") or ()],
            "normalizer": _plain(self.data.get("normalizer")),
            "pre_tokenizer": _plain(self.data.get("pre_tokenizer")),
            "added": [
                [token.id, token.content, *(["special"] if token.special else token.flags)]
                for token in self.added
            ],
        }
        text = json.dumps(meaning, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def text(self, *, without_specials: bool = False) -> str:
        """The file; optionally without the special tokens, so that nothing looks for them."""
        data = dict(self.data)
        if without_specials:
            data["added_tokens"] = [t for t in data.get("added_tokens") or () if not t["special"]]
            data["post_processor"] = None
        return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def parse(text: str | bytes, where: str) -> TokenizerJson:
    """Read and check a `tokenizer.json`; `where` names it in errors."""
    return check(parse_json(text, where, error=TokenizerError), where)


def check(data: Any, where: str) -> TokenizerJson:
    """The parsed contents of a `tokenizer.json`, or an error that says what is wrong with them."""
    model = data.get("model") if isinstance(data, dict) else None
    if isinstance(data, dict):
        _refuse_deep(data, where)
        refuse_unsafe(data, where)
    if not isinstance(model, dict) or "vocab" not in model:
        raise TokenizerError(
            f"{where} is not a tokenizer: it has no model with a vocabulary; is it another "
            "of the model's files?"
        )
    model = {**model, "type": _model_type(model), "dropout": None}
    if model["type"] not in _MODELS:
        known = ", ".join(_MODELS)
        raise TokenizerError(f"{where}: the model must be one of {known}, got {model['type']!r}")
    vocab = _vocabulary(model, where)
    added = _added(data.get("added_tokens") or (), where)
    _refuse_clashes(vocab, added, where)
    _refuse_moved(vocab, data.get("added_tokens") or (), where)
    _refuse_unknown_merges(model, set(vocab.values()), where)
    kept = {**data, "model": model, "truncation": None, "padding": None}
    return TokenizerJson(kept, vocab, added, where)


def byte_level_bpe(
    vocab: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    *,
    pre_tokenizer: Mapping[str, Any],
    specials: Mapping[str, int],
    post_processor: Mapping[str, Any] | None = None,
    ignore_merges: bool = False,
) -> dict[str, Any]:
    """The contents of a `tokenizer.json` for byte-level BPE."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special_tokens(specials),
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor,
        "decoder": byte_level(use_regex=True),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": ignore_merges,
            "vocab": dict(vocab),
            "merges": [list(merge) for merge in merges],
        },
    }


def byte_level(*, use_regex: bool) -> dict[str, Any]:
    """The component that writes bytes as letters, and may cut as GPT-2 does."""
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def special_tokens(specials: Mapping[str, int]) -> list[dict[str, Any]]:
    """Entries of `added_tokens`, by id."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    ordered = sorted(specials.items(), key=lambda item: item[1])
    return [{"id": i, "content": name, **flags, "special": True} for name, i in ordered]


def put_around(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, Any]:
    """A post-processor that puts special tokens, by name, before and after every text."""
    first, other = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    edges = [[{"SpecialToken": {"id": n, "type_id": 0}} for n in some] for some in (before, after)]
    single = [*edges[0], first, *edges[1]]
    named = {**before, **after}
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, other],
        "special_tokens": {n: {"id": n, "ids": [i], "tokens": [n]} for n, i in named.items()},
    }


def components(part: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The links of a normalizer, pre-tokenizer or post-processor, one after another."""
    if part is None:
        return []
    if part.get("type") != "Sequence":
        return [part]
    inner = [item for value in part.values() if isinstance(value, list) for item in value]
    return [link for item in inner for link in components(item)]


def _model_type(model: Mapping[str, Any]) -> Any:
    # Early files have no type; the keys show it.
    if "type" in model:
        return model["type"]
    if isinstance(model["vocab"], list):
        return "Unigram"
    if "merges" in model:
        return "BPE"
    return "WordPiece" if "continuing_subword_prefix" in model else "WordLevel"


def _vocabulary(model: Mapping[str, Any], where: str) -> dict[int, str]:
    vocab = model["vocab"]
    if model["type"] == "Unigram":
        if not isinstance(vocab, list) or not all(_is_scored(item) for item in vocab):
            raise TokenizerError(f"{where}: a Unigram vocabulary must be a list of [token, score]")
        return {number: piece for number, (piece, _) in enumerate(vocab)}
    if not isinstance(vocab, dict) or not all(_is_id(value) for value in vocab.values()):
        raise TokenizerError(f"{where}: every token of the vocabulary must have an id ≥ 0")
    tokens: dict[int, str] = {}
    for token, number in vocab.items():
        if number in tokens:
            raise TokenizerError(
                f"{where}: id {number} is given twice, to {tokens[number]!r} and to {token!r}"
            )
        tokens[number] = token
    return tokens


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32


def _is_scored(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)


def _added(tokens: Sequence[Any], where: str) -> tuple[AddedToken, ...]:
    added = []
    for token in tokens:
        if not isinstance(token, dict) or not _is_id(token.get("id")) or "content" not in token:
            raise TokenizerError(
                f"{where}: an added token must have an id and content, got {token}"
            )
        flags = ("single_word", "lstrip", "rstrip", "normalized")
        kept = tuple(flag for flag in flags if token.get(flag))
        special = bool(token.get("special"))
        added.append(AddedToken(token["id"], str(token["content"]), special, kept))
    return tuple(sorted(added, key=lambda token: token.id))


def _refuse_clashes(vocab: Mapping[int, str], added: Sequence[AddedToken], where: str) -> None:
    taken = dict(vocab)
    for token in added:
        if taken.setdefault(token.id, token.content) != token.content:
            raise TokenizerError(
                f"{where}: id {token.id} is given twice, to {taken[token.id]!r} and to "
                f"{token.content!r}"
            )
    ids = {token: number for number, token in vocab.items()}
    for token in added:
        if ids.get(token.content, token.id) != token.id:
            raise TokenizerError(
                f"{where}: {token.content!r} was added as id {token.id}, but is already id "
                f"{ids[token.content]} of the vocabulary; rename it"
            )
    if not taken:
        raise TokenizerError(f"{where}: the vocabulary is empty")
    # Unused ids may come before added tokens, not within the vocabulary.
    last = max(set(vocab) - {token.id for token in added}, default=-1)
    hole = next((number for number in range(last) if number not in taken), None)
    if hole is not None:
        raise TokenizerError(
            f"{where}: the vocabulary has a gap: its ids go up to {last}, and {hole} has "
            "no token; give every id a token"
        )


def _refuse_moved(vocab: Mapping[int, str], added: Sequence[Any], where: str) -> None:
    """Raise where the `tokenizers` library would give an added token another id than the file.

    What the vocabulary also has keeps its id. All others are renumbered, in the order of the file,
    from the size of the vocabulary on; their ids in the file are ignored.
    """
    known = {token: number for number, token in vocab.items()}
    after = len(vocab)
    for token in added:
        number = known.get(str(token["content"]))
        if number is None:
            number, after = after, after + 1
            known[str(token["content"])] = number
        if number != token["id"]:
            raise TokenizerError(
                f"{where}: {token['content']!r} was added as id {token['id']}, but the "
                f"tokenizers library makes it id {number}: added tokens are numbered from "
                f"{len(vocab):,} on. Renumber them, or list the token in the vocabulary too"
            )


def _refuse_unknown_merges(model: Mapping[str, Any], tokens: set[str], where: str) -> None:
    prefix = model.get("continuing_subword_prefix") or ""
    for number, merge in enumerate(model.get("merges") or ()):
        if not _is_pair(merge):
            raise TokenizerError(f"{where}: merge {number} must be two tokens, got {merge!r}")
        left, right = _pair(merge)
        for token in (left, right, left + right.removeprefix(prefix)):
            if token not in tokens:
                raise TokenizerError(
                    f"{where}: merge {number} ({left!r} and {right!r}) names {token!r}, "
                    "which the vocabulary does not have; do the two files match?"
                )


def _refuse_deep(data: Mapping[str, Any], where: str) -> None:
    """Raise where parts are nested so deep that walking them would exhaust the stack."""
    model = data.get("model")
    plain = {**model, "vocab": None, "merges": None} if isinstance(model, dict) else None
    level: list[Any] = [{**data, "model": plain}]
    for _ in range(_MAX_DEPTH):
        parts = [part.values() if isinstance(part, dict) else part for part in level]
        level = [x for part in parts for x in part if isinstance(x, dict | list)]
    if level:
        raise TokenizerError(f"{where}: parts must be at most {_MAX_DEPTH} levels deep")


def _is_pair(merge: Any) -> bool:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    is_list = isinstance(parts, list) and len(parts) == 2
    return is_list and all(isinstance(part, str) for part in parts)


def _pair(merge: Any) -> tuple[str, str]:
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return left, right


def _plain(part: Any) -> Any:
    """A component without irrelevant keys and without defaults."""
    if isinstance(part, dict):
        return {
            key: _plain(value)
            for key, value in part.items()
            if key not in _NO_MATTER and not _is_default(key, value)
        }
    return [_plain(item) for item in part] if isinstance(part, list) else part


def _is_default(key: str, value: Any) -> bool:
    if key in _DEFAULTS:
        return bool(value == _DEFAULTS[key])
    return value is None or value is False or value in ("", [], {})
