from __future__ import annotations

import base64
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Reference

import barrow.tokens
from barrow.errors import ConfigError, TokenizerError
from barrow.tokens import JsonTokenizer
from barrow.tokens.formats.rank_file import read_rank_file
from barrow.tokens.patterns import PATTERNS, Encoding
from barrow.tokens.tokenizer_json import check

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def lines(ranks: dict[bytes, int]) -> bytes:
    encoded = (base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    return b"".join(encoded)


@pytest.fixture(scope="module")
def ranks(trained: JsonTokenizer) -> dict[bytes, int]:
    return {trained.token_bytes(i): i for i in range(trained.vocab_size - 1)}


@pytest.fixture(scope="module", params=list(PATTERNS))
def both(
    request: pytest.FixtureRequest, ranks: dict[bytes, int]
) -> tuple[JsonTokenizer, tiktoken.Encoding]:
    ours = JsonTokenizer(check(read_rank_file(lines(ranks), "x", pattern=request.param), "x"))
    theirs = tiktoken.Encoding(
        "x",
        pat_str=PATTERNS[request.param] or GPT2,
        mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": len(ranks)},
    )
    return ours, theirs


def test_ids_are_tiktokens(
    both: tuple[JsonTokenizer, tiktoken.Encoding], strange: list[str]
) -> None:
    ours, theirs = both
    for text in strange:
        assert ours.encode(text).tolist() == theirs.encode_ordinary(text), text[:50]


@given(text=st.text() | st.text(st.sampled_from("the barowcis'n19 \n=")))
def test_ids_are_tiktokens_for_any_text(
    both: tuple[JsonTokenizer, tiktoken.Encoding], text: str
) -> None:
    ours, theirs = both
    assert ours.encode(text).tolist() == theirs.encode_ordinary(text)
    assert ours.decode(ours.encode(text)) == text


def test_a_token_that_no_pair_makes_is_found_whole() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"abc": 256}
    ours = JsonTokenizer(check(read_rank_file(lines(ranks), "x"), "x"))
    theirs = tiktoken.Encoding("x", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={})
    for text, ids in (("abc", [256]), ("abcd", list(b"abcd"))):
        assert ours.encode(text).tolist() == theirs.encode_ordinary(text) == ids


def test_the_file_opens_by_its_name_or_by_what_is_in_it(
    ranks: dict[bytes, int], tmp_path: Path
) -> None:
    (tmp_path / "some.tiktoken").write_bytes(lines(ranks))
    (tmp_path / "tokenizer.model").write_bytes(lines(ranks))
    first, second, third = (
        barrow.tokens.load(path)
        for path in (tmp_path, tmp_path / "some.tiktoken", tmp_path / "tokenizer.model")
    )
    assert first.hash == second.hash == third.hash
    assert dict(first.specials) == {"<|endoftext|>": len(ranks)}
    assert (first.begin, first.vocab_size) == (len(ranks), len(ranks) + 1)
    assert [first.token_bytes(i) for i in ranks.values()] == list(ranks)
    other = barrow.tokens.load(tmp_path, pattern="cl100k")
    assert other.hash != first.hash
    assert len(first.encode("1234")) == 1 < len(other.encode("1234"))
    with pytest.raises(ConfigError, match="no pattern 'gpt9'; did you mean 'gpt2'"):
        barrow.tokens.load(tmp_path, pattern="gpt9")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"YQ== 0\nwhat\n", "x, line 2: expected a token in base64, a space and its rank"),
        (b"YQ== one\n", "line 1: expected a token"),
        (b"Y!== 1\n", "line 1: expected a token"),
        (b"YQ== 0\nYQ== 1\n", "line 2: token b'a' is empty or duplicate"),
        (b"YQ== 0\n", "a token for every byte; there is none for 0x00"),
        (b"", "none for 0x00"),
    ],
)
def test_bad_files(data: bytes, words: str) -> None:
    with pytest.raises(TokenizerError, match=words):
        read_rank_file(data, "x")


def test_ranks_with_holes_or_given_twice() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    with pytest.raises(TokenizerError, match="would get an id that a token already has"):
        read_rank_file(lines(ranks | {b"ab": 257}), "x")
    with pytest.raises(TokenizerError, match="has a gap: its ids go up to 300, and 256 has no"):
        check(read_rank_file(lines(ranks | {b"ab": 300}), "x"), "x")
    with pytest.raises(TokenizerError, match="id 7 is given twice"):
        check(read_rank_file(lines(ranks | {b"ab": 7}), "x"), "x")


def test_special_ids_past_a_hole_stay_for_the_reference_too(
    ranks: dict[bytes, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As cl100k has them: 100,256 ranks, and <|endoftext|> is 100,257."""
    told = Encoding("gpt2", {"<|endoftext|>": len(ranks) + 1, "<|fim|>": len(ranks) + 4})
    monkeypatch.setattr("barrow.tokens.formats.rank_file.guess", lambda num: told)
    file = check(read_rank_file(lines(ranks), "x"), "x")
    reference = Reference.from_str(file.text())
    for name, number in told.specials.items():
        assert reference.token_to_id(name) == number
    ours = JsonTokenizer(file)
    assert ours.vocab_size == len(ranks) + 5
    theirs = tiktoken.Encoding(
        "x", pat_str=GPT2, mergeable_ranks=ranks, special_tokens=dict(told.specials)
    )
    text = "the <|endoftext|> of <|fim|>"
    assert ours.encode(text).tolist() == theirs.encode_ordinary(text)
