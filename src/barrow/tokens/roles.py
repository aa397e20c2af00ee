"""Which special tokens begin and end a document or a prompt, pad rows and mask tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from barrow.errors import TokenizerError
from barrow.tokens.tokenizer import Around
from barrow.tokens.tokenizer_json import TokenizerJson, components

_BEGIN = ("<|begin_of_text|>", "<|endoftext|>", "<|startoftext|>", "<bos>", "<s>", "[CLS]")
_PAD = ("<|pad|>", "<pad>", "[PAD]", "<|endofpad|>", "<|finetune_right_pad_id|>")
_MASK = ("<|mask|>", "<mask>", "[MASK]")


@dataclass(frozen=True)
class Roles:
    """Ids, or None."""

    begin: int | None = None
    end: int | None = None
    pad: int | None = None
    mask: int | None = None


def roles(file: TokenizerJson, settings: Mapping[str, Any]) -> Roles:
    """The special tokens that the file puts around a text; else from `settings` or the names.

    A document ends with an id only if the file puts one there: otherwise the next one's begin ends
    it.
    """
    ids = {token.content: token.id for token in file.added if token.special}
    # A store knows special tokens only: what it begins a document with stays as it was.
    edges = _around(file.data, file.where, {name: (number,) for name, number in ids.items()})
    begin, end = (edge[0] if edge else None for edge in edges)
    known = {*file.vocab, *(token.id for token in file.added)}
    for edge, number in (("before", begin), ("after", end)):
        if number is not None and number not in known:
            raise TokenizerError(
                f"{file.where}: the post-processor puts id {number} {edge} every text, "
                "which the vocabulary does not have; do the parts of the file match?"
            )
    if begin is None and end is None:
        begin = _named("bos_token", _BEGIN, ids, settings)
    return Roles(
        begin=begin,
        end=end,
        pad=_named("pad_token", _PAD, ids, settings),
        mask=_named("mask_token", _MASK, ids, settings),
    )


def around(data: Mapping[str, Any], where: str) -> Around:
    """The ids that a tokenizer.json puts before and after a text that is not of a store."""
    named = {token["content"]: (token["id"],) for token in data.get("added_tokens") or ()}
    with _of_a_post_processor(data, where):
        for link in components(data.get("post_processor")):
            for name, one in (link.get("special_tokens") or {}).items():
                named[name] = tuple(one["ids"])
    return _around(data, where, named)


def _around(data: Mapping[str, Any], where: str, named: Mapping[str, tuple[int, ...]]) -> Around:
    with _of_a_post_processor(data, where):
        for link in components(data.get("post_processor")):
            if link["type"] in ("RobertaProcessing", "BertProcessing"):
                return (link["cls"][1],), (link["sep"][1],)
            if link["type"] == "TemplateProcessing":
                return _of_template(link["single"], named)
    return (), ()


@contextmanager
def _of_a_post_processor(data: Mapping[str, Any], where: str) -> Iterator[None]:
    try:
        yield
    except (LookupError, TypeError, AttributeError) as error:
        raise TokenizerError(
            f"{where}: the post-processor must have cls and sep, or a template, got "
            f"{str(data['post_processor'])[:80]} ({error!r})"
        ) from None


def _of_template(single: list[Mapping[str, Any]], named: Mapping[str, tuple[int, ...]]) -> Around:
    before: list[int] = []
    after: list[int] = []
    side = before
    for item in single:
        if "Sequence" in item:
            side = after
        elif "SpecialToken" in item:
            side.extend(named.get(item["SpecialToken"]["id"], ()))
    return tuple(before), tuple(after)


def flagged(settings: Mapping[str, Any], ids: Mapping[str, int]) -> Around:
    """The same of vocab.json with merges.txt, whose settings say it, as in transformers."""

    def edge(key: str, flag: str) -> tuple[int, ...]:
        number = _named(key, ("<|endoftext|>",), ids, settings)
        return (number,) if settings.get(flag) is True and number is not None else ()

    return edge("bos_token", "add_bos_token"), edge("eos_token", "add_eos_token")


def _named(
    key: str, names: tuple[str, ...], ids: Mapping[str, int], settings: Mapping[str, Any]
) -> int | None:
    said = settings.get(key)
    said = said.get("content") if isinstance(said, dict) else said
    if isinstance(said, str) and said in ids:
        return ids[said]
    return next((ids[name] for name in names if name in ids), None)
