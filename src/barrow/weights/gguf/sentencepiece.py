"""A SentencePiece BPE vocabulary, pieces with scores, as a ``tokenizer.json``.

SentencePiece merges the neighbours whose merge has the best score; Hugging Face's BPE merges the
pair that is first in a list. The list here has every pair of pieces whose merge is a piece, best
score first. The two agree unless two different pairs make the same piece in overlapping places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SPACE = "▁"


def scored_pieces_json(
    pieces: Sequence[str],
    scores: Sequence[float],
    *,
    special: Sequence[int],
    unknown: int | None,
    begin: int | None = None,
    leading_space: bool = True,
) -> dict[str, Any]:
    """A tokenizer of pieces (with ``▁`` for a space), where bytes without a piece are ``<0x0A>``.

    `special` are ids that text never gives; a text begins with `begin`. With `leading_space`, a
    space is added before a text, and decoding removes it.
    """
    vocab = {piece: number for number, piece in enumerate(pieces)}
    if len(vocab) < len(pieces):
        twice = next(piece for number, piece in enumerate(pieces) if vocab[piece] != number)
        raise ValueError(f"the vocabulary has a duplicate: {twice!r}")
    prepend = [{"type": "Prepend", "prepend": SPACE}] if leading_space else []
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if leading_space else []
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added_token(number, pieces[number]) for number in special],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [*prepend, _replace(" ", SPACE)],
        },
        "pre_tokenizer": None,
        "post_processor": None if begin is None else begun_by(begin, pieces[begin]),
        "decoder": {
            "type": "Sequence",
            "decoders": [_replace(SPACE, " "), {"type": "ByteFallback"}, {"type": "Fuse"}, *strip],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None if unknown is None else pieces[unknown],
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": _merges(vocab, scores),
        },
    }


def added_token(number: int, text: str, *, special: bool = True) -> dict[str, Any]:
    """An entry of ``added_tokens``: text that is always one token."""
    return {
        "id": number,
        "content": text,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
    }


def begun_by(number: int, text: str) -> dict[str, Any]:
    """A ``post_processor`` that puts a token before every text."""
    token = {"SpecialToken": {"id": text, "type_id": 0}}
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    return {
        "type": "TemplateProcessing",
        "single": [token, first],
        "pair": [token, first, token, second],
        "special_tokens": {text: {"id": text, "ids": [number], "tokens": [text]}},
    }


def _replace(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _merges(vocab: dict[str, int], scores: Sequence[float]) -> list[list[str]]:
    found = [
        (-scores[number], number, cut, piece)
        for piece, number in vocab.items()
        for cut in range(1, len(piece))
        if piece[:cut] in vocab and piece[cut:] in vocab
    ]
    return [[piece[:cut], piece[cut:]] for _, _, cut, piece in sorted(found)]
