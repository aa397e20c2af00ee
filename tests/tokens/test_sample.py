from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import barrow
from barrow import Document
from barrow.errors import ConfigError
from barrow.tokens import Sample, draw_sample

SIZES = {"A": 600, "B": 300, "C": 30}


@pytest.fixture
def corpus(write: Callable[..., Path]) -> Path:
    """Documents of 100 bytes and a few: many of A, fewer of B, hardly any of C."""
    documents = [
        Document(f"{name}{number:04} " + "é" * 47, {"pile_set_name": name, "x": {"y": name}})
        for name, count in SIZES.items()
        for number in range(count)
    ]
    documents += [Document("", {"pile_set_name": "empty"}), Document("z" * 100, {})]
    return write(documents, "corpus", shard_size=20_000)


def drawn(corpus: Path, **options: object) -> tuple[Sample, list[str]]:
    archive = barrow.archive.open(corpus)
    sample = draw_sample(archive, **options)  # type: ignore[arg-type]
    return sample, list(sample.texts(barrow.archive.open(corpus)))


def test_parts_are_as_in_the_corpus(corpus: Path) -> None:
    sample, texts = drawn(corpus, num_bytes=30_000)
    taken = {name: sum(len(t.encode()) for t in texts if t[0] == name) for name in "ABCz"}
    assert taken == {**{name: sample.taken[name] for name in "ABC"}, "z": sample.taken["(none)"]}
    assert sample.sizes == {"(none)": 100, "A": 60_000, "B": 30_000, "C": 3_000, "empty": 0}
    assert taken["A"] == pytest.approx(30_000 * 60_000 / 93_100, abs=100)
    assert taken["B"] == pytest.approx(30_000 * 30_000 / 93_100, abs=100)
    assert taken["C"] == pytest.approx(30_000 * 3_000 / 93_100, abs=100)
    assert len(set(texts)) == len(texts)


def test_parts_are_as_the_weights(corpus: Path) -> None:
    sample, texts = drawn(corpus, num_bytes=12_000, weights={"A": 1, "B": 3, "empty": 0})
    assert sample.taken == {"A": 3_000, "B": 9_000}
    assert {text[0] for text in texts} == {"A", "B"}
    nested, _ = drawn(corpus, num_bytes=12_000, weights={"A": 1, "B": 3}, by="x.y")
    assert nested.taken == sample.taken


def test_what_a_domain_is_too_small_for_goes_to_the_others(corpus: Path) -> None:
    sample, _ = drawn(corpus, num_bytes=20_000, weights={"A": 1, "B": 1, "C": 2})
    assert sample.taken == {"A": 8_500, "B": 8_500, "C": 3_000}
    everything, texts = drawn(corpus, num_bytes=10**9)
    assert everything.taken | {"empty": 0} == everything.sizes
    assert len(texts) == sum(SIZES.values()) + 1


def test_the_seed_and_the_documents_decide(corpus: Path, write: Callable[..., Path]) -> None:
    first = drawn(corpus, num_bytes=9_000)[1]
    assert drawn(corpus, num_bytes=9_000)[1] == first
    assert drawn(corpus, num_bytes=9_000, seed=1)[1] != first
    other = write(list(barrow.archive.open(corpus)), "one.jsonl.zst", frame_size=2_000)
    assert drawn(other, num_bytes=9_000)[1] == first
    # Spread over the whole corpus, not its beginning.
    numbers = [int(text[1:5]) for text in first if text[0] == "A"]
    assert min(numbers) < 100 < 500 < max(numbers)


def test_a_domain_with_a_weight_is_never_left_out(corpus: Path) -> None:
    sample, _ = drawn(corpus, num_bytes=10, weights={"A": 1, "B": 1})
    assert sample.taken == {"A": 100, "B": 100}


def test_progress(corpus: Path) -> None:
    done: list[int] = []
    archive = barrow.archive.open(corpus)
    sample = draw_sample(archive, num_bytes=1000, on_progress=done.append)
    total = sum(done)
    assert total > 93_000
    list(sample.texts(archive, on_progress=done.append))
    assert sum(done) == 2 * total


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": {"AA": 1.0}}, "no domain 'AA'; did you mean 'A'"),
        ({"weights": {"Wiki": 1.0}}, "there are \\(none\\), A, B, C, empty"),
        ({"weights": {"A": -1.0}}, "the weight of A must be ≥ 0, got -1.0"),
        ({"weights": {"A": float("nan")}}, "weight of A must be ≥ 0, got nan"),
        ({"weights": {"A": 0.0}}, "every weight is 0"),
        ({"weights": {"empty": 1.0}}, "empty has a weight, but no text"),
        ({"num_bytes": 0}, "num_bytes must be ≥ 1, got 0"),
    ],
)
def test_bad_wishes(corpus: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        drawn(corpus, **{"num_bytes": 1000, **options})


def test_an_empty_corpus(write: Callable[..., Path]) -> None:
    for documents in ([], [Document("", {"pile_set_name": "A"})]):
        with pytest.raises(ConfigError, match="the corpus has no text to train on"):
            drawn(write(documents, f"{len(documents)}.jsonl.zst"), num_bytes=10)
