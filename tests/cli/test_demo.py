from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import barrow as package
from barrow.recipes import pocket


def run_demo(out: Path, *, steps: int, limit: int) -> str:
    """What it prints, as users run it: on the devices that are there, compiled as for them."""
    theirs = ("XLA_FLAGS", "JAX_DISABLE_MOST_OPTIMIZATIONS")
    done = subprocess.run(
        [sys.executable, "-m", "barrow", "demo", out, "--steps", str(steps), "--limit", str(limit)],
        env={key: value for key, value in os.environ.items() if key not in theirs},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo_builds_trains_and_scores(tmp_path: Path) -> None:
    """Whole, but for the number of steps and of held-out documents."""
    out = tmp_path / "demo"
    text = run_demo(out, steps=2, limit=80)
    domains = {domain.name for domain in pocket.recipe().domains.values()}
    for word in (*domains, "ngram:5", "xz", "zstd:19", "unigram", "uniform", "whole:xz"):
        assert word in text
    assert package.archive.verify(out / "corpus", deep=True).ok
    held_out = Counter(d.meta["pile_set_name"] for d in package.archive.open(out / "corpus/test"))
    assert set(held_out) == domains
    assert min(held_out.values()) >= 2
    store = package.tokens.open_store(out / "tokens")
    assert store.vocab_size == 4096
    assert store.num_documents == len(package.archive.open(out / "corpus"))
    result = package.score.read_result(out / "scores" / "model.json")
    assert result.contamination is not None, "the demo says what its test split shares"
    shared = result.contamination["documents"]
    assert f"contamination: {shared} documents share 13 words in a row with" in text
    assert result.overall.documents == 80
    assert result.model.train_tokens == 2 * 8 * 256
    uniform = package.score.read_result(out / "scores" / "uniform.json")
    assert uniform.overall.bpb == 8.0
    assert package.score.comparable(result.card, uniform.card) is None
    assert "unigram" in (out / "board.html").read_text()
    assert (out / "corpus" / "report.html").is_file()


def test_a_domain_whose_library_is_missing_is_named(
    barrow: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def prepare(root: Path, *, left_out: object) -> None:
        asked.append(left_out)
        raise FileExistsError("enough")

    monkeypatch.setattr(pocket, "missing_extras", lambda: {"printed_papers": "pdf"})
    monkeypatch.setattr(pocket, "prepare", prepare)
    code, text, _ = barrow("demo", tmp_path / "demo")
    assert code == 1
    assert "without printed_papers: its reader needs pip install 'barrow[pdf]'" in text
    assert asked == [{"printed_papers": "pdf"}]


def test_other_folders_are_left_alone(barrow: Callable, tmp_path: Path) -> None:
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    code, _, err = barrow("demo", other)
    assert code == 1
    assert "thesis.txt" in err
    assert [path.name for path in other.iterdir()] == ["thesis.txt"]


@pytest.mark.soak
def test_a_second_time_nothing_is_built_again(tmp_path: Path) -> None:
    run_demo(tmp_path / "demo", steps=2, limit=12)
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "demo/corpus").glob("*.zst")}
    assert made
    run_demo(tmp_path / "demo", steps=2, limit=12)
    assert {path: path.stat().st_mtime_ns for path in made} == made
