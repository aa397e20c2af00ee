from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from barrow.errors import WeightsError
from barrow.weights.llama2c_tokenizer import read_llama2c_tokenizer

# As llama2.c's exporter writes them: control pieces between line ends, ▁ as a space.
PIECES = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *(f"<0x{i:02X}>".encode() for i in range(256))]
PIECES += [b" a", b"ab", b" ab", b" ", b"a", b"b", "é".encode()]


def make(pieces: list[bytes]) -> bytes:
    data = struct.pack("<i", max(map(len, pieces)))
    for number, piece in enumerate(pieces):
        data += struct.pack("<fi", -float(max(0, number - 258)), len(piece)) + piece
    return data


def test_it_opens_in_tokenizers(tmp_path: Path) -> None:
    path = tmp_path / "tok.bin"
    path.write_bytes(make(PIECES))
    table = read_llama2c_tokenizer(path, vocab_size=len(PIECES))
    found = Tokenizer.from_str(json.dumps(table))
    assert found.encode("ab a").tokens == ["<s>", "▁ab", "▁a"]
    assert found.encode("é\n", add_special_tokens=False).tokens == ["▁", "é", "<0x0A>"]
    assert found.decode(found.encode("ab é\nb").ids) == "ab é\nb"
    assert [found.token_to_id(name) for name in ("<unk>", "<s>", "</s>")] == [0, 1, 2]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "0 bytes cannot hold 266 pieces"),
        (make(PIECES)[:-1], "piece 265 has a length of 2, 1 bytes are left"),
        (make(PIECES)[:-20], "ends within piece 26|piece 26. has a length"),
        (make(PIECES) + b"x", "1 bytes after piece 266: the tokenizer of another model?"),
        (make([*PIECES[:-1], b"\xff\xff"]), "piece 265 is not UTF-8"),
        (make([*PIECES[:-1], b"ab"]), "the vocabulary has 'ab' twice"),
        (make(PIECES)[:4] + struct.pack("<fi", 0, -5) + make(PIECES)[12:], "a length of -5"),
        (make(PIECES)[:4] + struct.pack("<fi", 0, 1 << 30) + make(PIECES)[12:], "1,073,741,824"),
    ],
)
def test_bad_files(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "tok.bin"
    path.write_bytes(data)
    with pytest.raises(WeightsError, match=words):
        read_llama2c_tokenizer(path, vocab_size=len(PIECES))
