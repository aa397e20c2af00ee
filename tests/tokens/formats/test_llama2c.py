from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

import barrow.tokens
from barrow.errors import TokenizerError
from barrow.tokens import JsonTokenizer
from barrow.tokens.formats.llama2c import read_llama2c_file
from barrow.tokens.tokenizer_json import check

PIECES = [
    " t",
    "he",
    " a",
    "nd",
    " the",
    " and",
    "  ",
    "th",
    "the",
    "    ",
    "a",
    "d",
    "e",
    "h",
    "n",
]
PIECES += ["t", " ", "é", "日", "日本", "本", "."]


def entry(score: float, token: bytes) -> bytes:
    return struct.pack("<fi", score, len(token)) + token


def made(pieces: list[str] = PIECES, *, by_name: bool = True) -> bytes:
    of_bytes = [b"<0x%02X>" % byte if by_name else chr(byte).encode() for byte in range(256)]
    head = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *of_bytes]
    body = [entry(-float(number), piece.encode()) for number, piece in enumerate(pieces)]
    return struct.pack("<i", 8) + b"".join(entry(0.0, token) for token in head) + b"".join(body)


def by_llama2c(text: str) -> list[int]:
    """What llama2.c's encode does, step by step."""
    vocab = {piece: (259 + number, -float(number)) for number, piece in enumerate(PIECES)}
    names = {number: piece for piece, (number, _) in vocab.items()}
    ids = []
    for character in (" " + text) if text else "":
        if character in vocab:
            ids.append(vocab[character][0])
        else:
            ids += [3 + byte for byte in character.encode()]
    while True:
        best, place = -1e10, -1
        for i in range(len(ids) - 1):
            joined = names.get(ids[i], "\0") + names.get(ids[i + 1], "\0")
            if joined in vocab and vocab[joined][1] > best:
                best, place = vocab[joined][1], i
        if place < 0:
            return ids
        joined = names[ids[place]] + names[ids[place + 1]]
        ids[place : place + 2] = [vocab[joined][0]]


@pytest.fixture(scope="module")
def tokenizer() -> JsonTokenizer:
    return JsonTokenizer(check(read_llama2c_file(made(), "x"), "x"))


@given(text=st.text(max_size=60) | st.text(st.sampled_from("the and日本é. \n"), max_size=60))
def test_ids_are_llama2cs(tokenizer: JsonTokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert ids.tolist() == by_llama2c(text)
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode_bytes(ids) == text.encode()


def test_strange_texts_come_back(tokenizer: JsonTokenizer, strange: list[str]) -> None:
    for text in strange:
        assert tokenizer.decode(tokenizer.encode(text)) == text, text[:50]


def test_what_it_is(tokenizer: JsonTokenizer, tmp_path: Path) -> None:
    (tmp_path / "tok512.bin").write_bytes(made())
    for path in (tmp_path, tmp_path / "tok512.bin"):
        assert barrow.tokens.load(path).hash == tokenizer.hash
    assert dict(tokenizer.specials) == {"<unk>": 0, "<s>": 1, "</s>": 2}
    assert (tokenizer.begin, tokenizer.end) == (1, None)
    assert [tokenizer.token_bytes(i) for i in range(3)] == [b"", b"", b""]
    assert [tokenizer.token_bytes(3 + byte) for byte in range(256)] == [
        bytes([byte]) for byte in range(256)
    ]
    assert [tokenizer.token_bytes(259 + i).decode() for i in range(len(PIECES))] == PIECES


def test_bytes_as_characters(tokenizer: JsonTokenizer) -> None:
    """Files of 2023, stories15M's among them."""
    found = JsonTokenizer(check(read_llama2c_file(made(by_name=False), "x"), "x"))
    assert found.hash == tokenizer.hash


def test_saved_it_opens_in_transformers(tokenizer: JsonTokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path)
    reference = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    text = "the  and\n日本x"
    assert reference.encode(text) == [1, *tokenizer.encode(text).tolist()]
    assert reference.decode(reference.encode(text), skip_special_tokens=True) == text
    assert barrow.tokens.load(tmp_path).begin == 1


@pytest.mark.parametrize("missing", [1, 3, 5, 9, 10])
def test_truncated(missing: int) -> None:
    data = made()[:-missing]
    if missing == 9:  # the whole of the last token: a shorter vocabulary, and sound
        assert check(read_llama2c_file(data, "x"), "x").vocab_size == 259 + len(PIECES) - 1
        return
    with pytest.raises(TokenizerError, match="token 2.., at byte .*, is cut off"):
        read_llama2c_file(data, "x")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "0 bytes is too short"),
        (struct.pack("<i", 8) + entry(0, b"a"), "token 3 .* must be <0x00>, got b'nothing'"),
        (struct.pack("<i", 2) + entry(0, b"abc"), "has a length outside 1 to 2"),
        (struct.pack("<i", 2) + entry(0, b""), "has a length outside 1 to 2"),
        (struct.pack("<i", 2) + entry(float("nan"), b"a"), "or a score of NaN"),
        (made([*PIECES, "the"]), "token 'the' appears twice, also at 267"),
        (made() + entry(-99.0, b"\xff"), "token 281 is not UTF-8"),
        (made().replace(b"<0x41>", b"<0x!!>"), "token 68 .* must be <0x41>, got b'<0x!!>'"),
    ],
)
def test_bad_files(data: bytes, words: str) -> None:
    with pytest.raises(TokenizerError, match=words):
        read_llama2c_file(data, "x")
