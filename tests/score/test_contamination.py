"""The receipt: what of the scored documents a training corpus has too (BEYOND-10)."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Iterator

import numpy as np
import pytest
from tests.score.baselines.test_ngram_counts import block

from barrow.archive import Block
from barrow.score.contamination import contamination

LEAK = (
    "It isn’t the well-known baker’s naïve daughter, said Zoë, who crossed the river at dawn; "
    "nobody else could have known where the old bridge had been before the flood of 1953."
)


def words(seed: int, num: int = 80) -> str:
    rng = random.Random(seed)
    return " ".join("".join(rng.choices("abcdefghij", k=6)) for _ in range(num))


def blocks(*texts: str) -> list[Block]:
    return [block(*(text.encode() for text in texts))]


def receipt(documents: list[tuple[str, str]], train: list[Block], **options: int) -> dict:
    return contamination(documents, lambda: iter(train), name="corpus", **options)


@pytest.mark.parametrize(
    "form",
    [
        str,
        str.upper,
        lambda text: textwrap.fill(text, 12),
        lambda text: text.replace(",", "").replace("’", ""),
        lambda text: text.replace(" ", "\n\n"),
        lambda text: text.replace("-", " "),
    ],
)
def test_a_leak_survives_wrapping_case_and_marks(form: object) -> None:
    train = blocks(words(1), f"{words(2)} {form(LEAK)} {words(3)}")  # type: ignore[operator]
    found = receipt([("A", LEAK), ("A", words(4)), ("B", words(5))], train)
    assert found["documents"] == found["domains"]["A"]["documents"] == 1
    assert found["domains"]["B"] == {"documents": 0, "share": 0.0}
    assert 0 < found["share"] < found["domains"]["A"]["share"]


def slow_share(texts: list[str], train: list[str], ngram: int) -> tuple[int, float]:
    """Sets of tuples of words; the texts here have no marks."""

    def runs(text: str) -> list[tuple[str, ...]]:
        split = text.split()
        return [tuple(split[i : i + ngram]) for i in range(len(split) - ngram + 1)]

    known = {run for text in train for run in runs(text)}
    hits = [[run in known for run in runs(text)] for text in texts]
    total = sum(map(len, hits))
    return sum(any(h) for h in hits), sum(map(sum, hits)) / total if total else 0.0


@pytest.mark.parametrize("group_bytes", [1, 500, 1 << 20])
def test_equals_sets_of_words(group_bytes: int) -> None:
    rng = random.Random(7)
    texts = [" ".join(rng.choices("abcde", k=rng.randrange(30))) for _ in range(40)]
    train = [" ".join(rng.choices("abcde", k=200)) for _ in range(5)]
    documents = [(f"D{i % 3}", text) for i, text in enumerate(texts)]
    found = receipt(documents, blocks(*train), ngram=5, group_bytes=group_bytes)
    number, share = slow_share(texts, train, 5)
    assert 0 < number < len(texts)
    assert (found["documents"], found["share"]) == (number, pytest.approx(share))
    for domain in ("D0", "D1", "D2"):
        own = [text for name, text in documents if name == domain]
        number, share = slow_share(own, train, 5)
        told = found["domains"][domain]
        assert (told["documents"], told["share"]) == (number, pytest.approx(share))


def test_words_whose_marks_the_corpus_lost_are_found() -> None:
    """Every word has a mark inside: the runs of the two are the same only without them."""
    marked = " ".join(f"{word[:3]}-{word[3:]}" for word in words(6, 30).split())
    found = receipt([("A", marked)], blocks(words(6, 30)))
    assert (found["documents"], found["share"]) == (1, 1.0)


def test_runs_do_not_cross_documents() -> None:
    text = words(8, 20).split()
    train = blocks(" ".join(text[:10]), " ".join(text[10:]))
    assert receipt([("A", " ".join(text))], train)["documents"] == 0
    assert receipt([("A", " ".join(text))], blocks(" ".join(text)))["share"] == 1.0


def test_documents_that_share_a_run_are_all_found() -> None:
    documents = [("A", LEAK), ("A", f"{LEAK} {words(9)}"), ("B", LEAK)]
    found = receipt(documents, blocks(LEAK))
    assert [found["domains"][name]["documents"] for name in "AB"] == [2, 1]
    assert found["domains"]["B"]["share"] == 1.0


def test_the_corpus_is_read_once_for_each_group() -> None:
    reads = 0

    def train() -> Iterator[Block]:
        nonlocal reads
        reads += 1
        return iter(blocks(LEAK))

    documents = [("A", words(seed)) for seed in range(6)]
    size = len(documents[0][1])
    contamination(documents, train, name="corpus", group_bytes=2 * size)
    assert reads == 3


def test_short_and_empty_documents() -> None:
    found = receipt([("A", ""), ("A", "twelve words are not enough")], blocks(LEAK))
    assert found == {
        "ngram": 13,
        "train": "corpus",
        "domains": {"A": {"documents": 0, "share": 0.0}},
        "documents": 0,
        "share": 0.0,
    }
    assert receipt([], blocks(LEAK))["domains"] == {}


def test_what_it_gives_can_be_saved() -> None:
    from barrow.config import to_json

    assert '"share": 1.0' in to_json(receipt([("A", LEAK)], blocks(LEAK)))
    assert np.isfinite(receipt([("A", LEAK)], blocks(LEAK))["share"])
