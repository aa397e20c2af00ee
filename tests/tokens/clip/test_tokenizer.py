from __future__ import annotations

import itertools
import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tests.models.clip_peers import reference

from barrow.errors import MissingExtra
from barrow.tokens.clip.merges import find_merges
from barrow.tokens.clip.tokenizer import END, START, ClipTokenizer, cleaned, words

PIECES = [
    "hello",
    "World",
    "&amp;",
    "&lt;b&gt;",
    "&amp;amp;",
    "😀",
    "👩‍👩‍👧",
    "naïve",
    "Ã©",
    "日本語",
]
PIECES += ["don't", "I'LL", "x" * 50, "123", "١٢", "ſ", "'ſ", "...", "!?", "\u200b", "\u00ad", "\n"]
PIECES += ["\t", "\x00", "İ", "ß", "ﬁ", "\ufeff", "&#128512;", "<|endoftext|>", "</w>", "a</w>"]
PIECES += ["\u2028", "“q”", "â€™", "𝒳", "e\u0301", "ab" * 300, "!" * 90, " "]


def strings(num: int) -> list[str]:
    """Words, entities, emoji, broken encodings, and code points of every plane."""
    rng = random.Random(0)
    found = []
    for _ in range(num):
        parts = []
        for _ in range(rng.randint(0, 12)):
            kind = rng.random()
            if kind < 0.5:
                parts.append(rng.choice(PIECES))
            elif kind < 0.7:
                high = rng.choice([0x7F, 0x7FF, 0xD7FF])
                point = rng.randint(0xE000, 0x10FFFF) if kind < 0.55 else rng.randint(0, high)
                parts.append(chr(point))
            else:
                letters = rng.choices("etaoinshrdlucmf", k=rng.randint(1, 12))
                parts.append(" " + "".join(letters))
        found.append("".join(parts))
    return found


@pytest.fixture(scope="module")
def published() -> ClipTokenizer:
    return ClipTokenizer.load(find_merges([]))


def test_ten_thousand_strings_as_the_reference(published: ClipTokenizer, tmp_path: Path) -> None:
    """CLIP-3: id by id, against open_clip's copy of OpenAI's tokenizer."""
    texts = strings(10_000)
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    reference("tokens", tmp_path / "texts.json", tmp_path / "ids.json")
    expected = json.loads((tmp_path / "ids.json").read_text())
    for text, ids in zip(texts, expected, strict=True):
        assert published.encode(text) == ids, repr(text)


def test_published_numbers(published: ClipTokenizer) -> None:
    """CLIP-3: 49,408 ids, 77 positions, start 49406, end 49407; ids that anyone can check."""
    assert (published.vocab_size, published.start, published.end) == (49408, 49406, 49407)
    (row,) = published.rows(["a photo of a cat"])
    assert row[:8].tolist() == [49406, 320, 1125, 539, 320, 2368, 49407, 0]
    assert row.shape == (77,)


def slow(tokenizer: ClipTokenizer, letters: str) -> list[str]:
    """Byte-pair encoding as it is defined: the lowest pair everywhere, from the left, again."""
    parts = [*letters[:-1], letters[-1] + "</w>"]
    while True:
        pairs = {p for p in itertools.pairwise(parts) if p in tokenizer._ranks}
        if not pairs:
            return parts
        pair = min(pairs, key=tokenizer._ranks.__getitem__)
        joined: list[str] = []
        while parts:
            if tuple(parts[:2]) == pair:
                joined.append("".join(parts[:2]))
                parts = parts[2:]
            else:
                joined.append(parts.pop(0))
        parts = joined


ODD = ClipTokenizer(
    [
        *(("a", "a"), ("b", "a"), ("aa", "a"), ("a", "b</w>"), ("ba", "aa"), ("aa", "aa")),
        *(("a", "ba"), ("c", "c"), ("aa", "cc"), ("ba", "cc")),
    ]
)


@given(st.text("abc", min_size=1, max_size=24))
def test_merging_is_the_definition(word: str) -> None:
    assert ODD._merged(word) == slow(ODD, word)


def test_tokens_of_two_merges_are_merged() -> None:
    assert ODD._merged("aaccb") == ["aacc", "b</w>"]


def test_rows_that_are_too_long() -> None:
    text = "a b c"
    assert ODD.rows([text], context=5).shape == (1, 5)
    with pytest.raises(ValueError, match="at most 4 tokens, start and end included, got 5"):
        ODD.rows(["x", text], context=4)
    with pytest.warns(
        UserWarning, match="1 of 2 texts were cut to 4 tokens, the first of them 'a b"
    ):
        found = ODD.rows(["x", text], context=4, truncate=True)
    assert found.dtype == np.int32
    assert found[1].tolist() == [ODD.start, *ODD.encode("a b"), ODD.end]
    with pytest.raises(ValueError, match="put it in a list"):
        ODD.rows("text")


def test_decoding(published: ClipTokenizer) -> None:
    text = "it 's naïve ! 日本語 😀"
    ids = published.rows(["It's naïve! 日本語 😀"])[0]
    assert published.decode(ids) == text
    with pytest.raises(ValueError, match="ids must be from 0 to 49407"):
        published.decode([49408])


def test_special_tokens_in_a_text_are_text(published: ClipTokenizer) -> None:
    for name in (START, END):
        assert not {published.start, published.end} & set(published.encode(f"x {name} y"))


def test_saved_and_opened_by_us_and_by_transformers(tmp_path: Path) -> None:
    ODD.save(tmp_path)
    assert ClipTokenizer.load(tmp_path).hash == ODD.hash
    assert ClipTokenizer.load(tmp_path / "merges.txt").vocab_size == ODD.vocab_size
    theirs = transformers.CLIPTokenizer.from_pretrained(tmp_path)
    for text in ("aab baa", "A ba!", "naïve abc"):
        assert theirs(text).input_ids == [ODD.start, *ODD.encode(text), ODD.end]


def test_cleaning() -> None:
    """CLIP-3: repaired, unescaped twice, one space, lower case."""
    assert cleaned("  The\tschÃ¶n &amp;amp; GREAT\n\u00a0&lt;b&gt; ") == "the schön & great <b>"
    assert cleaned("\n") == ""
    # Where there is a tag, ftfy leaves entities to the two readings that follow.
    assert cleaned("<i>&amp;lt; &amp;amp;lt;") == "<i>< &lt;"


def test_words() -> None:
    assert words("it's 12 o'clock!? naïve😀") == [
        *("it", "'s", "1", "2", "o", "'", "clock", "!?", "naïve", "😀")
    ]


@pytest.mark.parametrize("library", ["ftfy"])
def test_a_library_that_is_missing(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=r"needs ftfy: pip install '.\[clip\]'"):
        cleaned("x")
