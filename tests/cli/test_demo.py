from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import barrow as package
from barrow.score import read_result

FILES = ("raw", "corpus", "tokenizer", "tokens", "held-out", "run", "scores", "board.html")


@pytest.mark.usefixtures("cache")
def test_text_to_scores(barrow: Callable, tmp_path: Path) -> None:
    """The whole of it, with two steps of training and few documents scored."""
    out = tmp_path / "demo"
    code, text, _ = barrow("demo", out, "--steps", 2, "--limit", 12)
    assert code == 0
    for word in ("Python Sources", "Python Topics", "Package Papers", "Arithmetic", "verified"):
        assert word in text
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    corpus = out / "corpus"
    assert package.archive.verify(corpus, deep=True).ok

    store = package.tokens.open_store(out / "tokens")
    assert store.vocab_size == 4096
    assert store.num_documents == len(package.archive.open(corpus))
    tokenizer = package.tokens.load(out / "tokenizer")
    first = store.document(0)
    ids = store.read(store.domain_place(first.domain), first.start, first.stop)
    expected = package.archive.open(corpus)[first.archive_number].text
    assert tokenizer.decode(ids[1:]) == expected

    results = {path.stem: read_result(path) for path in (out / "scores").glob("*.json")}
    assert set(results) == {"model", "ngram-5", "xz", "zstd-19", "unigram", "uniform", "whole-xz"}
    assert {result.card.ground.documents for result in results.values()} == {12}
    assert results["uniform"].overall.bpb == pytest.approx(8)
    model = results["model"].overall.bpb
    assert model is not None
    assert f"the model needs {model:.3f} bits for a byte it has not seen" in text


@pytest.mark.soak
@pytest.mark.usefixtures("cache")
def test_a_second_time_nothing_is_built_again(barrow: Callable, tmp_path: Path) -> None:
    few = ("--steps", 2, "--limit", 12)
    assert barrow("demo", tmp_path / "demo", *few).code == 0
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "demo/corpus").glob("*.zst")}
    assert made
    assert barrow("demo", tmp_path / "demo", *few).code == 0
    assert {path: path.stat().st_mtime_ns for path in made} == made


def test_other_folders_are_left_alone(barrow: Callable, tmp_path: Path) -> None:
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    code, _, err = barrow("demo", other)
    assert code == 1
    assert "holds 'thesis.txt', which the demo did not make" in err
    assert (other / "thesis.txt").read_text() == "years of work"
