"""Tokenizers in llama2.c's file: a score and the bytes of every token.

The file is the longest token's length (int32), and for each token its score (float32), its length
(int32) and its bytes, little-endian. The tokens are those of a SentencePiece model with spaces for
▁: first `<unk>`, the begin and the end of a text, then the 256 bytes as `<0x00>` to `<0xFF>` (in
files of 2023 as the characters U+0000 to U+00FF), then the pieces. A text gets a space before it,
is cut into characters, or bytes where a character is not a token, and neighbours are merged, the
highest score first.
"""

from __future__ import annotations

import struct
from typing import Any

from barrow.errors import TokenizerError
from barrow.tokens.formats.rank_file import ranked_merges
from barrow.tokens.tokenizer_json import put_around, special_tokens

_SPECIALS = ("<unk>", "<s>", "</s>")
_FIRST_PIECE = len(_SPECIALS) + 256


def read_llama2c_file(data: bytes, where: str) -> dict[str, Any]:
    """The contents of a `tokenizer.json` that encodes as llama2.c does."""
    entries = _entries(data, where)
    specials = {name: number for number, name in enumerate(_SPECIALS)}
    vocab = dict(specials)
    for byte in range(256):
        vocab[f"<0x{byte:02X}>"] = len(_SPECIALS) + byte
    scores: dict[str, float] = {}
    for number, (score, token) in enumerate(entries[_FIRST_PIECE:], _FIRST_PIECE):
        piece = _text(token, number, where)
        if piece in vocab:
            raise TokenizerError(f"{where}: token {piece!r} appears twice, also at {vocab[piece]}")
        vocab[piece] = number
        scores[piece] = score
    parts = {piece: vocab[piece] for piece in scores}
    ranks = {piece: -score for piece, score in scores.items()}
    merges = ranked_merges(scores, rank=ranks, parts=parts)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": special_tokens(specials),
        "normalizer": {"type": "Prepend", "prepend": " "},
        "pre_tokenizer": None,
        "post_processor": put_around({"<s>": 1}, {}),
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": [list(merge) for merge in merges],
        },
    }


def _entries(data: bytes, where: str) -> list[tuple[float, bytes]]:
    if len(data) < 4:
        raise TokenizerError(f"{where}: {len(data)} bytes is too short for a llama2.c tokenizer")
    (longest,) = struct.unpack_from("<i", data)
    entries: list[tuple[float, bytes]] = []
    place = 4
    while place < len(data):
        score, size = struct.unpack_from("<fi", data, place) if place + 8 <= len(data) else (0, 0)
        end = place + 8 + size
        if not 0 < size <= longest or end > len(data) or score != score:
            raise TokenizerError(
                f"{where}: token {len(entries)}, at byte {place}, is cut off, has a length "
                f"outside 1 to {longest} or a score of NaN; is it a complete llama2.c file?"
            )
        entries.append((score, data[place + 8 : end]))
        place = end
    for number in range(_FIRST_PIECE):
        byte = number - len(_SPECIALS)
        found = entries[number][1] if number < len(entries) else b"nothing"
        if byte >= 0 and found not in (b"<0x%02X>" % byte, chr(byte).encode()):
            raise TokenizerError(
                f"{where}: token {number} of a llama2.c tokenizer must be <0x{byte:02X}>, "
                f"got {found!r}; was it trained without byte fallback?"
            )
    return entries


def _text(token: bytes, number: int, where: str) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise TokenizerError(f"{where}: token {number} is not UTF-8: {token!r}") from None
