"""A SentencePiece BPE vocabulary, pieces with scores, as a ``tokenizer.json``.

SentencePiece merges the neighbours whose merge has the best score; Hugging Face's BPE merges the
pair that is first in a list. The list here has every pair of pieces whose merge is a piece, best
score first. The two agree unless two different pairs make the same piece in overlapping places.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

SPACE = "▁"


def scored_pieces_json(
    pieces: Sequence[str],
    scores: Sequence[float],
    *,
    special: Sequence[int],
    unknown: int | None,
    begin: int | None = None,
    end: int | None = None,
    leading_space: bool = True,
    user_defined: Sequence[int] = (),
    unused: Collection[int] = (),
) -> dict[str, Any]:
    """A tokenizer of pieces (with ``▁`` for a space), where bytes without a piece are ``<0x0A>``.

    `special` are ids that text never gives, `user_defined` those of texts that are always one
    token, and `unused` have no piece. A text begins with `begin` and ends with `end`. With
    `leading_space`, a space is added before a text, and decoding removes it.
    """
    vocab = {piece: number for number, piece in enumerate(pieces)}
    if len(vocab) < len(pieces):
        twice = next(piece for number, piece in enumerate(pieces) if vocab[piece] != number)
        raise ValueError(f"the vocabulary has a duplicate: {twice!r}")
    vocab = {piece: number for piece, number in vocab.items() if number not in unused}
    added = sorted({*special, *user_defined})
    prepend = [{"type": "Prepend", "prepend": SPACE}] if leading_space else []
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if leading_space else []
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added_token(i, pieces[i], special=i in special) for i in added],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [*prepend, _replace(" ", SPACE)],
        },
        "pre_tokenizer": None,
        "post_processor": put_around(begin, end, pieces),
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
            "merges": merges_of(vocab, scores, aside=added),
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


def put_around(begin: int | None, end: int | None, pieces: Sequence[str]) -> dict[str, Any] | None:
    """A ``post_processor`` that puts a token before, or after, every text; None without either."""
    before, after = (
        [] if number is None else [{"SpecialToken": {"id": pieces[number], "type_id": 0}}]
        for number in (begin, end)
    )
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    named = {
        pieces[number]: {"id": pieces[number], "ids": [number], "tokens": [pieces[number]]}
        for number in (begin, end)
        if number is not None
    }
    template = {
        "type": "TemplateProcessing",
        "single": [*before, first, *after],
        "pair": [*before, first, *after, *before, second, *after],
        "special_tokens": named,
    }
    return template if named else None


def _replace(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def merges_of(
    vocab: Mapping[str, int], scores: Sequence[float], *, aside: Collection[int]
) -> list[list[str]]:
    """Every pair of pieces whose merge is a piece, best score first; none makes those `aside`."""
    found = [
        (-scores[number], number, cut, piece)
        for piece, number in vocab.items()
        if number not in aside
        for cut in range(1, len(piece))
        if piece[:cut] in vocab and piece[cut:] in vocab
    ]
    return [[piece[:cut], piece[cut:]] for _, _, cut, piece in sorted(found)]


def scores_of(vocab: Mapping[str, int], merges: Sequence[Sequence[str]], size: int) -> list[float]:
    """Scores by which the pieces are merged in the same order: `merges_of` backwards."""
    scores = [-float(len(merges))] * size
    for rank, (left, right) in reversed(list(enumerate(merges))):
        scores[vocab[left + right]] = -float(rank)
    return scores
