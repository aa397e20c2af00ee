"""Which special tokens begin and end a document, pad rows and mask tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from barrow.errors import TokenizerError
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
    begin, end = _around(file, ids)
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


def _around(file: TokenizerJson, ids: Mapping[str, int]) -> tuple[int | None, int | None]:
    processor = file.data.get("post_processor")
    try:
        for link in components(processor):
            if link["type"] in ("RobertaProcessing", "BertProcessing"):
                return link["cls"][1], link["sep"][1]
            if link["type"] == "TemplateProcessing":
                return _of_template(link["single"], ids)
    except (LookupError, TypeError, AttributeError) as error:
        raise TokenizerError(
            f"{file.where}: the post-processor must have cls and sep, or a template, got "
            f"{str(processor)[:80]} ({error!r})"
        ) from None
    return None, None


def _of_template(
    single: list[Mapping[str, Any]], ids: Mapping[str, int]
) -> tuple[int | None, int | None]:
    before: list[int] = []
    after: list[int] = []
    side = before
    for item in single:
        if "Sequence" in item:
            side = after
        elif "SpecialToken" in item and item["SpecialToken"]["id"] in ids:
            side.append(ids[item["SpecialToken"]["id"]])
    return (before[0] if before else None), (after[0] if after else None)


def _named(
    key: str, names: tuple[str, ...], ids: Mapping[str, int], settings: Mapping[str, Any]
) -> int | None:
    said = settings.get(key)
    said = said.get("content") if isinstance(said, dict) else said
    if isinstance(said, str) and said in ids:
        return ids[said]
    return next((ids[name] for name in names if name in ids), None)
