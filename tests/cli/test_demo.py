from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer.main
from tests.parallel.several_processes import xla_flags

import barrow as package
from barrow.cli.demo import demo
from barrow.cli.main import app
from barrow.demo import pocket


def test_pages_say_how_long_it_trains() -> None:
    steps = inspect.signature(demo).parameters["steps"].default
    docs = Path(package.__file__).parents[2] / "docs"
    assert f"the demo trains it for {steps} steps" in (docs / "train.md").read_text()
    assert f"`llama.tiny`, {steps} steps" in (docs / "demo.md").read_text()


def run_demo(out: Path, *options: str) -> str:
    """What it prints, on one device, as most users have."""
    done = subprocess.run(
        [sys.executable, "-m", "barrow", "demo", "--out", out, *options],
        env={**os.environ, "XLA_FLAGS": xla_flags(1)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo_builds_trains_and_scores(tmp_path: Path) -> None:
    """Whole, but for the amount of text, of steps and of scored documents."""
    out = tmp_path / "demo"
    text = run_demo(out, "--megabytes", "0.6", "--steps", "2", "--limit", "9")
    raw = {path.name for path in (out / "raw").iterdir()}
    domains = {d.name for folder, d in pocket.recipe().domains.items() if folder in raw}
    assert len(domains) >= 7
    for word in (*domains, "ngram:5", "xz", "zstd:19", "unigram", "uniform", "whole:xz"):
        assert word in text
    archive = package.archive.open(out / "corpus")
    assert {document.meta["pile_set_name"] for document in archive} == domains
    store = package.tokens.open_store(out / "tokens")
    assert store.num_documents == len(archive)
    result = package.score.read_result(out / "scores" / "model")
    assert result.contamination is not None, "the demo says what its test split shares"
    shared = result.contamination["documents"]
    assert f"contamination: {shared} of 9 documents share 13 words in a row with" in text
    assert result.overall.documents == 9
    assert result.model.train_tokens == 2 * 8 * 256
    uniform = package.score.read_result(out / "scores" / "uniform")
    assert uniform.overall.bpb == 8.0
    assert package.score.comparable(result.card, uniform.card) is None
    assert "unigram" in (out / "board.html").read_text()
    assert (out / "corpus" / "report.html").is_file()

    commands = text.partition("\nNext:\n")[2].splitlines()
    assert len(commands) == 3
    for line in commands:
        name, verb, *arguments = shlex.split(line)
        assert name == "barrow"
        command = typer.main.get_command(app).commands[verb]  # type: ignore[attr-defined]
        known = {option for param in command.params for option in param.opts}
        assert {word for word in arguments if word.startswith("-")} <= known
    assert float(re.search(r"generate .* --temperature (\S+)", text)[1]) > 0, "it samples"


def test_a_domain_that_is_missing_is_named(
    barrow: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[float] = []

    def prepare(root: Path, *, share: float) -> dict[str, str]:
        shares.append(share)
        return {"manual_pages": "0 kB here, at least 12"}

    monkeypatch.setattr(pocket, "prepare", prepare)
    code, text, _ = barrow("demo", "--out", tmp_path / "demo", "--megabytes", "3")
    assert code == 1, "there are no raw files"
    assert "without manual_pages: too little text (0 kB here, at least 12)" in text
    assert shares == [0.5]


def test_other_folders_are_left_alone(barrow: Callable, tmp_path: Path) -> None:
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    code, _, err = barrow("demo", "--out", other)
    assert code == 1
    assert "thesis.txt" in err
    assert [path.name for path in other.iterdir()] == ["thesis.txt"]


@pytest.mark.soak
def test_a_second_time_nothing_is_built_again(tmp_path: Path) -> None:
    options = ("--megabytes", "0.6", "--steps", "2", "--limit", "9")
    run_demo(tmp_path / "demo", *options)
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "demo/corpus").glob("*.zst")}
    assert made
    run_demo(tmp_path / "demo", *options)
    assert {path: path.stat().st_mtime_ns for path in made} == made
