from __future__ import annotations

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Reference

from barrow.errors import ConfigError
from barrow.tokens.byte_alphabet import LETTERS, unspelled
from barrow.tokens.patterns import PATTERNS, guess, pre_tokenizer
from barrow.tokens.tokenizer_json import byte_level_bpe, check

# As tiktoken's own code has them.
_TIKTOKEN = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
}
_TEXT = st.text(
    st.sampled_from(list("aZé日ſ1²٣ \n\r\t\u3000'stdlmrveS./=_-\u0301🙂\x00")), max_size=40
)


def cuts(pattern: str, text: str) -> list[bytes]:
    vocab = {letter: byte for byte, letter in enumerate(LETTERS)}
    data = byte_level_bpe(vocab, [], pre_tokenizer=pre_tokenizer(pattern), specials={})
    library = Reference.from_str(check(data, "x").text())
    pieces = library.pre_tokenizer.pre_tokenize_str(text)
    return [unspelled(piece) or b"" for piece, _ in pieces]


@pytest.mark.parametrize("pattern", list(_TIKTOKEN))
@given(text=_TEXT)
@example(text="\r\u3000")
@example(text="x\n  ")
def test_cuts_are_tiktokens(pattern: str, text: str) -> None:
    pieces = cuts(pattern, text)
    assert b"".join(pieces) == text.encode()
    # With the pieces as tokens, tiktoken cuts into just these.
    ranks = {bytes([byte]): byte for byte in range(256)}
    for piece in pieces:
        ranks.setdefault(piece, len(ranks))
    whole = tiktoken.Encoding(
        "y", pat_str=_TIKTOKEN[pattern], mergeable_ranks=ranks, special_tokens={}
    )
    assert whole.decode_tokens_bytes(whole.encode_ordinary(text)) == pieces


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        ("gpt2", "It|'s| 12345| naïveXMLFile|.|\n|\n|x"),
        ("cl100k", "It|'s| |123|45| naïveXMLFile|.\n\n|x"),
        ("llama3", "It|'s| |123|45| naïveXMLFile|.\n\n|x"),
        ("qwen", "It|'s| |1|2|3|4|5| naïveXMLFile|.\n\n|x"),
        ("o200k", "It's| |123|45| naïve|XMLFile|.\n\n|x"),
    ],
)
def test_how_each_cuts(pattern: str, pieces: str) -> None:
    text = "It's 12345 naïveXMLFile.\n\nx"
    assert b"|".join(cuts(pattern, text)).decode() == pieces


def test_unknown_pattern() -> None:
    with pytest.raises(ConfigError, match="no pattern 'cl100'; did you mean 'cl100k'"):
        pre_tokenizer("cl100")


@pytest.mark.parametrize(
    ("num_ranks", "pattern", "end"),
    [
        (300, "gpt2", 300),
        (50_256, "gpt2", 50_256),
        (50_280, "gpt2", 50_256),
        (100_000, "cl100k", 100_000),
        (100_256, "cl100k", 100_257),
        (151_643, "qwen", 151_643),
        (199_998, "o200k", 199_999),
        (250_000, "o200k", 250_000),
    ],
)
def test_guesses(num_ranks: int, pattern: str, end: int) -> None:
    encoding = guess(num_ranks)
    assert encoding.pattern == pattern
    assert encoding.specials["<|endoftext|>"] == end
    assert pattern in PATTERNS


def test_llama_begins_a_text() -> None:
    assert guess(128_000).pattern == "llama3"
    assert guess(128_000).specials["<|begin_of_text|>"] == 128_000
