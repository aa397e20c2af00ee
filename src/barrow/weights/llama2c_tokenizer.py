"""Open llama2.c's tokenizers: the longest piece, then score, length and bytes of every piece."""

from __future__ import annotations

import os
import re
import struct
from typing import Any

from barrow.errors import WeightsError
from barrow.weights.mapped_file import MappedFile
from barrow.weights.scored_pieces import SPACE, scored_pieces_json

_PIECE = struct.Struct("<fi")
# The exporter writes control pieces with line ends around them, so that they print well.
_CONTROL = {0: "<unk>", 1: "<s>", 2: "</s>"}
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def read_llama2c_tokenizer(path: str | os.PathLike[str], *, vocab_size: int) -> dict[str, Any]:
    """``tokenizer.json`` of a ``tokenizer.bin`` or ``tok*.bin`` with so many pieces."""
    file = MappedFile(path)
    if file.size < 4 + vocab_size * _PIECE.size:
        raise WeightsError(
            f"{file.size:,} bytes cannot hold {vocab_size:,} pieces: "
            "cut short, or the tokenizer of another model",
            path=path,
        )
    data = file.memory()
    pieces, scores, at = [], [], 4
    for number in range(vocab_size):
        if at + _PIECE.size > file.size:
            raise WeightsError(f"ends within piece {number:,} of {vocab_size:,}", path=path)
        score, length = _PIECE.unpack_from(data, at)
        at += _PIECE.size
        if not 0 <= length <= file.size - at:
            raise WeightsError(
                f"piece {number:,} has a length of {length:,}, {file.size - at:,} bytes are left",
                path=path,
            )
        pieces.append(_piece(bytes(data[at : at + length]), number, path))
        # NaN has no order.
        scores.append(score if score == score else float("-inf"))
        at += length
    if at != file.size:
        raise WeightsError(
            f"{file.size - at:,} bytes after piece {vocab_size:,}: the tokenizer of another model?",
            path=path,
        )
    try:
        return scored_pieces_json(pieces, scores, special=sorted(_CONTROL), unknown=0, begin=1)
    except ValueError as error:
        raise WeightsError(str(error), path=path) from None


def _piece(text: bytes, number: int, path: str | os.PathLike[str]) -> str:
    if number in _CONTROL:
        return _CONTROL[number]
    try:
        piece = text.decode("utf-8")
    except UnicodeDecodeError:
        raise WeightsError(f"piece {number:,} is not UTF-8", path=path) from None
    return piece if _BYTE.fullmatch(piece) else piece.replace(" ", SPACE)
