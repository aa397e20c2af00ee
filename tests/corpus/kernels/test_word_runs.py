"""Runs of words: the same for what a person would call the same wording (PILE-12)."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barrow.corpus.kernels.word_runs import find_runs, num_words, places_of, run_table, runs_of

Buffer = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]


def buffer(*texts: str) -> Buffer:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return np.frombuffer(b"".join(data), np.uint8), offsets


def is_found(text: str, document: str, ngram: int | None = None) -> bool:
    """Whether all of a text, or n words of it, are in a document."""
    runs, _ = runs_of([text], ngram or num_words(text), whole_words=ngram is None)
    return bool(len(find_runs(*buffer(document), run_table(runs)[0]).run))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("he said they don't and she won't", "He said they dont, and she wont!"),
        ("he paid 1,000,000 for it in the end", "he paid 1000000 for it in the end"),
        ("of COVID-19 they had no idea at all", "of COVID 19 they had no idea at all"),
        ("of COVID-19 they had no idea at all", "of COVID19 they had no idea at all"),
        ("the examination was over by then", "the **exam**ination was over by then"),
        ("the examination was over by then", "the exam-\n  ination was over by then"),
        ("the exam-\nination was over by then", "the examination was over by then"),
        ("the flood came in the night", "the flood[1] came in² the night.3"),
        ("the flood[1] came in² the night.3", "the flood came in the night"),
        ("the flood came in the night", "1 the flood\n2 came in\n3 the night"),
        ("the flood came in the night", "the&nbsp;flood&nbsp;came&#x20;in the night"),
        ("the flood came in the night", "the\u200bflood\u200bcame\u200bin\u200bthe\u200bnight"),
        ("من أجل سلام دائم في العالم", "مـن أجـل سـلام دائـم في العـالم"),
        ("IN ISTANBUL IT IS RAINING", "ın ıstanbul ıt ıs raınıng"),
        ("a copy of the paper he expects", "а сору of the рареr he ехресts"),
        ("Η ΑΓΑΠΗ ΕΙΝΑΙ ΠΑΝΤΟΥ ΕΔΩ", "η αγάπη είναι παντού εδώ"),
        ("in ١٩٥٣ the flood came at night", "in 1953 the flood came at night"),
        ("the cat sat on the mat and", "the cats at on the mat an d"),
        ("人人生而自由在尊严和权利上", "人人 生而自由,在尊严 和权利上"),
    ],
)
def test_the_same_wording(one: str, other: str) -> None:
    assert is_found(one, f"And then: {other} (so they say)")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("he paid 1,000,000 for it in the end", "he paid 2,000,000 for it in the end"),
        ("we are now here and there they are", "elsewhere are now here and there they are"),
        ("we are now here and there they are", "we are now here and there they aren"),
        ("now here", "nowhere"),
        ("nowhere", "now here"),
        ("a1 b2 c3", "a1 b2 c4"),
        ("x &lt; y", "x z y"),
    ],
)
def test_other_wording(one: str, other: str) -> None:
    assert not is_found(one, f"And then: {other} (so they say)")


def test_words_between_blanks_and_between_anything() -> None:
    text = "It isn't state-of-the-art, is it?"
    assert num_words(text) == 5
    assert len(np.unique(places_of(runs_of([text], 1)[0]))) == 9
    assert len(np.unique(places_of(runs_of([text], 5)[0]))) == 5
    assert len(np.unique(places_of(runs_of([text], 5, whole_words=True)[0]))) == 1
    assert num_words("—\n ...") == 0


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 16), st.integers(0, 40), st.booleans())
def test_found_if_and_only_if_there(seed: int, ngram: int, size: int, cjk: bool) -> None:
    """Sets of tuples, over words of one letter and one digit, or of one ideograph."""
    rng = random.Random(seed)
    words = "人生自由" if cjk else [letter + digit for letter in "abc" for digit in "012"]
    text, document = rng.choices(words, k=size), rng.choices(words, k=60)
    grams = {tuple(text[k : k + ngram]) for k in range(size - ngram + 1)}
    there = [k for k in range(61 - ngram) if tuple(document[k : k + ngram]) in grams]
    runs, _ = runs_of([" ".join(text)], ngram)
    hits = find_runs(*buffer("", " ".join(document)), run_table(runs)[0])
    assert sorted(set(hits.piece.tolist())) == there
    assert set(hits.document.tolist()) <= {1}


@pytest.mark.parametrize("gap", [" ", " \n" * 40, ", 7 "])
def test_chunks_make_no_difference(gap: str) -> None:
    """A long document is parsed in chunks; a run across two of them is found, and found once."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(1, 9))) for _ in range(9_000)]
    runs, _ = runs_of([" ".join(words)], 13)
    table, rows = run_table(runs)
    assert len(np.unique(rows)) == len(rows) == 9_000 - 12
    hits = find_runs(*buffer("x", gap.join(words)), table)
    assert len(np.unique(hits.run)) == len(rows)
    assert len(np.unique(np.stack(hits[1:], axis=1), axis=0)) == len(rows)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80), st.integers(1, 14))
def test_any_text_is_found_in_itself(text: str, ngram: int) -> None:
    runs, offsets = runs_of(["", text], ngram)
    assert offsets.tolist() == [0, 0, len(runs)]
    table, rows = run_table(runs)
    hits = find_runs(*buffer(text), table)
    assert set(rows.tolist()) >= set(hits.run.tolist())
    assert len(np.unique(hits.piece)) >= len(np.unique(places_of(runs)))


def test_runs_that_are_too_long_are_left_out() -> None:
    text = " ".join(["a" * 500] * 13)
    assert len(runs_of([text], 13)[0]) == 0
    assert len(runs_of(["b" * 40_000 + " c"], 1)[0]) == 1
