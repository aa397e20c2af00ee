"""Evaluation data is found in documents however it was typed (PILE-12)."""

from __future__ import annotations

import json
import random
import re
import textwrap
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.decontaminate import (
    Item,
    Match,
    find_matches,
    load_index,
    mark_found,
    ngram_hashes,
    ngram_index,
    read_items,
    save_index,
    slots_of,
)
from barrow.corpus.scratch import Scratch
from barrow.corpus.word_hashes import Words, word_hashes
from barrow.errors import ConfigError

LEAK = (
    "It isn’t the well-known baker’s naïve daughter, said Zoë, who crossed the river at dawn; "
    "nobody else could have known where the old bridge had been before the flood of 1953."
)


def words(*texts: str) -> Words:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return word_hashes(np.frombuffer(b"".join(data), np.uint8), offsets, Scratch())


def padding(seed: int) -> str:
    rng = random.Random(seed)
    return " ".join(
        rng.choices(
            ["lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "elit", "sed", "do"], k=60
        )
    )


FORMS = {
    "as it is": lambda text: text,
    "wrapped": lambda text: textwrap.fill(text, 20),
    "one word a line": lambda text: "\n".join(text.split()),
    "capitals": str.upper,
    "lower case": str.lower,
    "no marks": lambda text: re.sub(r"[^\w\s]", "", text),
    "marks as spaces": lambda text: re.sub(r"[^\w\s]", " ", text),
    "straight marks": lambda text: text.replace("’", "'"),
    "other marks": lambda text: re.sub(r"[,;.]", " — ", text),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "wide": lambda text: "".join(
        chr(ord(c) + 0xFEE0) if c.isascii() and c.isalnum() else c for c in text
    ),
    "no accents": lambda text: "".join(
        c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_leak_is_found_in_any_form(form: str) -> None:
    index = ngram_index([Item("quiz", 3, LEAK), Item("quiz", 4, padding(9))])
    document = f"{padding(1)}\n{FORMS[form](LEAK)}\n{padding(2)}"
    assert [
        (m.document, m.name, m.number) for m in find_matches(words(padding(5), document), index)
    ] == [(1, "quiz", 3)]


def test_twelve_words_are_not_thirteen() -> None:
    twelve, thirteen = " ".join(LEAK.split()[:9]), " ".join(LEAK.split()[:13])
    index = ngram_index([Item("quiz", 0, LEAK)])
    assert len(words(twelve).hashes) == 12  # isn t, well known, baker s
    assert find_matches(words(twelve), index) == []
    assert find_matches(words(thirteen), index)


def test_matches_are_counted_by_item() -> None:
    first, second = " ".join(f"a{k}" for k in range(20)), " ".join(f"b{k}" for k in range(14))
    index = ngram_index([Item("x", 0, first), Item("y", 7, second), Item("z", 1, "too short")])
    assert index.num_too_short == 1
    found = find_matches(words("", f"{second} and {first}", "nothing"), index)
    assert found == [Match(1, "x", 0, 8), Match(1, "y", 7, 2)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 15), st.integers(0, 80))
def test_found_if_and_only_if_there(seed: int, ngram: int, size: int) -> None:
    rng = random.Random(seed)
    items = [[rng.choice("abcde") + str(rng.randint(0, 3)) for _ in range(size)] for _ in range(3)]
    document = [rng.choice("abcde") + str(rng.randint(0, 3)) for _ in range(60)]
    grams = {tuple(item[k : k + ngram]) for item in items for k in range(len(item) - ngram + 1)}
    expected = any(tuple(document[k : k + ngram]) in grams for k in range(60 - ngram + 1))
    index = ngram_index([Item("s", k, " ".join(item)) for k, item in enumerate(items)], ngram=ngram)
    assert bool(find_matches(words(" ".join(document)), index)) == expected


def test_sets_of_every_kind(tmp_path: Path) -> None:
    records = [{"q": "one two", "choices": ["three", {"x": "four"}], "n": 5}, {"q": ""}]
    lines = "\n".join(json.dumps(record) for record in records)
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "b.jsonl.zst").write_bytes(zstandard.compress(lines.encode()))
    (tmp_path / "c.txt").write_text("one\ntwo\n\nthree\n")
    expected = ["one two\nthree\nfour", ""]
    assert [item.text for item in read_items(tmp_path / "a.jsonl")] == expected
    assert [item.text for item in read_items(tmp_path / "b.jsonl.zst")] == expected
    assert [item.text for item in read_items(tmp_path / "c.txt")] == ["one\ntwo", "three\n"]


def test_bad_sets(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"q": "fine"}\n{"q": \n')
    with pytest.raises(ConfigError, match="a.jsonl, line 2"):
        list(read_items(tmp_path / "a.jsonl"))
    (tmp_path / "b.jsonl").write_text("")
    with pytest.raises(ConfigError, match="no bytes"):
        list(read_items(tmp_path / "b.jsonl"))
    with pytest.raises(ConfigError, match="at least one word"):
        ngram_index([], ngram=0)


def test_an_empty_index_finds_nothing() -> None:
    assert find_matches(words(LEAK, "", "x"), ngram_index([])) == []


def test_an_index_is_saved_and_read_back(tmp_path: Path) -> None:
    index = ngram_index([Item("quiz", 3, LEAK), Item("quiz", 4, "short")], ngram=5)
    save_index(index, tmp_path / "i.safetensors")
    again = load_index(tmp_path / "i.safetensors")
    assert find_matches(words(LEAK), again) == find_matches(words(LEAK), index) != []
    assert (again.ngram, again.num_too_short, again.items) == (5, 1, [("quiz", 3)])


def test_which_ngrams_some_texts_have() -> None:
    """Every slot that is marked is that of an n-gram of the index and of a text."""
    index = ngram_index([Item("quiz", 0, LEAK), Item("quiz", 1, padding(9))], ngram=5)
    found = np.zeros(len(index.slots), np.bool_)
    mark_found(words(padding(1), f"{LEAK} {padding(2)}"), index, found)
    scratch = Scratch()
    own = slots_of(ngram_hashes(LEAK, 5, scratch), index)
    assert (own >= 0).all()
    assert found[own].all()
    elsewhere = " ".join(f"{word}x" for word in LEAK.split())
    assert (slots_of(ngram_hashes(elsewhere, 5, scratch), index) == -1).all()
    before = found.copy()
    mark_found(words(elsewhere, "few words"), index, found)
    assert np.array_equal(found, before)


def test_marks_are_the_hits_that_are_counted() -> None:
    rng = random.Random(3)
    texts = [" ".join(rng.choices("abcd", k=30)) for _ in range(20)]
    index = ngram_index([Item("quiz", 0, texts[0])], ngram=4)
    for text in texts[1:]:
        found = np.zeros(len(index.slots), np.bool_)
        mark_found(words(text), index, found)
        hashes = ngram_hashes(text, 4, Scratch())
        assert found.sum() == len(np.unique(hashes[slots_of(hashes, index) >= 0]))


def test_short_texts_have_no_ngrams() -> None:
    assert len(ngram_hashes("one two", 3, Scratch())) == 0
