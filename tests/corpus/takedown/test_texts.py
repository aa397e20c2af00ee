from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.filters.texts import Texts
from barrow.corpus.kernels.scratch import Scratch
from barrow.corpus.takedown.texts import TextMatcher, TextRule, read_texts, words_scheme
from barrow.errors import ConfigError, NotFound

LONG = " ".join(f"word{n}" for n in range(40))


def contains(texts: list[str], *rules: TextRule, any_ngram: bool = False) -> list[bool]:
    given = Texts.of_strings(texts, [{}] * len(texts), Scratch())
    return TextMatcher(rules).contains(given.text, given.offsets, any_ngram=any_ngram).tolist()


def reference(text: str, document: str, share: float) -> bool:
    """n-grams as tuples of words, in plain Python."""
    wanted, there = re.findall(r"\w+", text.lower()), re.findall(r"\w+", document.lower())
    n = min(13, len(wanted))
    grams = {tuple(wanted[k : k + n]) for k in range(len(wanted) - n + 1)}
    held = {tuple(there[k : k + n]) for k in range(len(there) - n + 1)}
    return len(grams & held) >= share * len(grams) - 1e-9


def test_wrapping_case_and_punctuation_make_no_difference() -> None:
    rules = TextRule.of("Don't panic: the state-of-the-art towel, naïve or not.")
    told = [
        "before DONT PANIC the stateoftheart towel naive or not after",
        "don't\npanic -- the state of the art\ttowel; NAÏVE or (not)",
        "don't panic: the state-of-the-art towel, naïve or",
        "",
    ]
    assert contains(told, rules) == [True, True, False, False]


def test_share() -> None:
    half = " ".join(LONG.split()[:26])
    assert contains([half, LONG, "x"], TextRule.of(LONG)) == [False, True, False]
    assert contains([half], TextRule.of(LONG, share=0.5)) == [True]
    assert contains([half], TextRule.of(LONG, share=0.51)) == [False]
    bit = " ".join(LONG.split()[3:16])
    assert contains([bit, bit[4:]], TextRule.of(LONG), any_ngram=True) == [True, False]
    for share in (0, 1.1):
        with pytest.raises(ConfigError, match="share"):
            TextRule.of(LONG, share=share)


def test_not_across_documents() -> None:
    words = LONG.split()
    cut = [" ".join(words[:20]), " ".join(words[20:])]
    assert contains(cut, TextRule.of(LONG)) == [False, False]
    assert contains(["alpha", "beta"], TextRule.of("alpha beta")) == [False, False]
    assert contains(["alpha", "beta"], TextRule.of("alpha beta"), any_ngram=True) == [False, False]


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=20), min_size=1, max_size=3),
    st.lists(st.lists(st.sampled_from("abc"), max_size=30), min_size=1, max_size=4),
    st.sampled_from([0.3, 0.5, 1.0]),
)
def test_as_the_reference_has_it(
    texts: list[list[str]], documents: list[list[str]], share: float
) -> None:
    """Several texts that share n-grams, and documents in one buffer."""
    rules = [TextRule.of(" ".join(text), share=share) for text in texts]
    told = [" ".join(words) for words in documents]
    expected = [any(reference(" ".join(t), d, share) for t in texts) for d in told]
    assert contains(told, *rules) == expected
    assert [contains([d], *rules)[0] for d in told] == expected


def test_no_word_of_the_text_is_kept() -> None:
    rule = TextRule.of(LONG)
    assert "word" not in rule.ngrams
    assert rule.runs().shape[1] == 3
    assert words_scheme() == words_scheme()


def test_files(tmp_path: Path) -> None:
    plain, lines = tmp_path / "a.txt", tmp_path / "b.jsonl"
    plain.write_text("one\n\ntext")
    assert read_texts(plain) == ["one\n\ntext"]
    lines.write_text(json.dumps({"text": "a b", "id": 1}) + "\n\n" + json.dumps("c d") + "\n")
    assert read_texts(lines) == ["a b", "c d"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.jsonl", b'{"text": "a"}\n{"text": 1}\n', "line 2: expected a string"),
        ("x.jsonl", b"{broken\n", "line 1"),
        ("x.jsonl", b"\n\n", "no texts in it"),
        ("x.jsonl", b'"..."\n', "text 1 has no words"),
        ("x.txt", b"", "the file is empty"),
        ("x.txt", b" ?! ", "no words"),
        ("x.txt", b"caf\xe9", "not UTF-8 at byte 3"),
        ("x.txt.gz", b"\x1f\x8b\x08broken", "x.txt.gz"),
    ],
)
def test_malformed_files(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=message):
        read_texts(path)
    with pytest.raises(NotFound):
        read_texts(tmp_path / "none.txt")
