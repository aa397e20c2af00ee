from __future__ import annotations

import collections
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import barrow.tokens
from barrow.errors import ConfigError
from barrow.score.protocol import prefix_token
from barrow.tokens import JsonTokenizer

TEXTS = ["low low low low lower lower", "newest newest newest widest widest", "naïve low\n\n日本"]


def test_every_merge_joins_a_most_frequent_pair() -> None:
    """Against byte pair encoding done slowly: each merge has the highest count at its time."""
    tokenizer = barrow.tokens.train(TEXTS, vocab_size=290)
    words: collections.Counter[tuple[bytes, ...]] = collections.Counter()
    for text in TEXTS:
        for word in re.findall(r" ?\w+|\n(?=\n)|\n", text):
            words[tuple(bytes([byte]) for byte in word.encode())] += 1
    learnt = [tokenizer.token_bytes(i) for i in range(256, tokenizer.vocab_size - 1)]
    assert len(learnt) > 10
    for token in learnt:
        pairs: collections.Counter[tuple[bytes, bytes]] = collections.Counter()
        for word, count in words.items():
            for pair in itertools.pairwise(word):
                pairs[pair] += count
        most = max(pairs.values())
        best = [pair for pair, count in pairs.items() if count == most and b"".join(pair) == token]
        assert best, token
        words = collections.Counter(
            {_joined(word, best[0]): count for word, count in words.items()}
        )


def _joined(word: tuple[bytes, ...], pair: tuple[bytes, bytes]) -> tuple[bytes, ...]:
    parts, i = [], 0
    while i < len(word):
        both = word[i : i + 2] == pair
        parts.append(b"".join(pair) if both else word[i])
        i += 2 if both else 1
    return tuple(parts)


def test_ids_are_bytes_then_merges_then_special_tokens() -> None:
    names = ("<doc>", "<|pad|>", "<|mask|>", "<x>")
    tokenizer = barrow.tokens.train(TEXTS, vocab_size=270, specials=names)
    assert tokenizer.vocab_size == 270
    assert [tokenizer.token_bytes(i) for i in range(256)] == [bytes([i]) for i in range(256)]
    assert dict(tokenizer.specials) == {name: 266 + i for i, name in enumerate(names)}
    assert (tokenizer.begin, tokenizer.end) == (266, None)
    assert (tokenizer.pad, tokenizer.mask) == (267, 268)
    assert tokenizer.encode("<doc>").min() < 266
    assert tokenizer.decode(tokenizer.encode("<doc> 日\x00")) == "<doc> 日\x00"


def test_without_special_tokens_and_without_merges() -> None:
    tokenizer = barrow.tokens.train(TEXTS, vocab_size=256, specials=())
    assert (tokenizer.vocab_size, tokenizer.begin) == (256, None)
    assert tokenizer.encode("low").tolist() == list(b"low")


def test_fewer_ids_where_nothing_occurs_twice() -> None:
    assert barrow.tokens.train(["abcdefgh"], vocab_size=1000).vocab_size == 257


def test_patterns_decide_where_pairs_are_counted() -> None:
    texts = ["12345 12345 12345"] * 3
    longest = {
        pattern: max(
            len(re.findall(rb"[0-9]", tokenizer.token_bytes(i)))
            for i in range(tokenizer.vocab_size)
        )
        for pattern in ("gpt2", "cl100k", "qwen")
        for tokenizer in [barrow.tokens.train(texts, vocab_size=300, pattern=pattern)]
    }
    assert longest == {"gpt2": 5, "cl100k": 3, "qwen": 1}


def test_order_and_threads_change_nothing(trained: JsonTokenizer) -> None:
    program = (
        "import random, sys\n"
        "import barrow.tokens\n"
        "rng = random.Random(5)\n"
        "texts = [' '.join(''.join(rng.choices('abcd', k=rng.randint(1, 6)))"
        " for _ in range(300)) for _ in range(60)]\n"
        "texts = texts[::-1] if sys.argv[1] == 'back' else texts\n"
        "print(barrow.tokens.train(texts, vocab_size=600).hash)\n"
    )
    hashes = set()
    for threads, way in (("1", "on"), ("3", "on"), ("4", "back")):
        run = subprocess.run(
            [sys.executable, "-c", program, way],
            env={**os.environ, "RAYON_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "true"},
            capture_output=True,
            text=True,
            check=True,
        )
        hashes.add(run.stdout)
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vocab_size": 256}, "must be ≥ 257 .256 bytes and 1 special tokens., got 256"),
        ({"vocab_size": 257, "specials": ("<a>", "<b>")}, "must be ≥ 258 .*, got 257"),
        ({"vocab_size": 1 << 25}, "≤ 16,777,216, got 33,554,432"),
        ({"vocab_size": 300, "specials": ("<a>", "<a>")}, "must have different, non-empty names"),
        ({"vocab_size": 300, "specials": ("",)}, "must have different, non-empty names"),
        (
            {"vocab_size": 300, "specials": ("a",)},
            "'a' was added as id .*, but is already id 97 of",
        ),
        ({"vocab_size": 300, "pattern": "gpt3"}, "no pattern 'gpt3'; did you mean 'gpt2'"),
    ],
)
def test_bad_wishes(options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        barrow.tokens.train(TEXTS, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("texts", [[], [""], ["", ""]])
def test_no_text(texts: list[str]) -> None:
    with pytest.raises(ConfigError, match="there is no text to train a tokenizer on"):
        barrow.tokens.train(texts, vocab_size=300)


def test_what_begins_a_document_also_ends_the_one_before(tmp_path: Path) -> None:
    """Others read that in tokenizer_config.json; ids and scores do not change by it."""
    for made in (barrow.tokens.train(TEXTS, vocab_size=290), barrow.tokens.load("bytes")):
        made.save(tmp_path)
        settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
        assert settings["bos_token"] == settings["eos_token"] == "<|endoftext|>"
        opened = barrow.tokens.load(tmp_path)
        (tmp_path / "tokenizer_config.json").write_text(
            json.dumps({name: x for name, x in settings.items() if name != "eos_token"})
        )
        before = barrow.tokens.load(tmp_path)
        assert opened.hash == before.hash
        assert (opened.begin, opened.end) == (before.begin, before.end) == (made.begin, None)
        for role in ("begin", "end"):
            assert prefix_token(opened, role) == prefix_token(before, role)
