"""`barrow score` and `barrow score diff` together: real results, which compare or do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barrow import Document
from barrow.score import read_result

MODULE = """
import numpy as np
from barrow.tokens import load


class Flat:
    tokenizer = load("bytes")
    max_length = None

    def log_probs(self, rows):
        return [np.full(len(row) - 1, -np.log(64)) for row in rows]
"""


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[..., Path]) -> Path:
    """As `barrow build` leaves one; the current folder is that of the corpus."""
    monkeypatch.chdir(tmp_path)
    texts = [f"{n} stones and {n * n} mounds, né\n" * (1 + n % 3) for n in range(12)]
    documents = [Document(t, {"pile_set_name": "AB"[i % 2]}) for i, t in enumerate(texts)]
    folder = write(documents[:6], "corpus", shard_size=60_000)
    write(documents[6:], "corpus/test", shard_size=60_000)
    (folder / "manifest.json").write_text("{}")
    return folder


@pytest.fixture
def scored(barrow: Callable[..., Any], corpus: Path) -> Callable[..., Path]:
    """Score by the command line; the folder that it wrote."""

    def scored(model: str, name: str, *options: object) -> Path:
        path = corpus.parent / name
        code, out, err = barrow("score", model, corpus, "--out", path, *options)
        assert (code, err) == (0, ""), out
        return path

    return scored


def test_two_models_on_the_same_text(
    barrow: Callable[..., Any], scored: Callable[..., Path]
) -> None:
    a, b = scored("uniform", "a"), scored("unigram", "b")
    assert read_result(a).overall.bpb == pytest.approx(8, abs=1e-12)
    code, out, err = barrow("score", "diff", a, b, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    expected = 8 - (read_result(b).overall.bpb or 0)
    assert told["overall"]["difference"] == pytest.approx(expected)
    assert expected > 1
    assert barrow("score", "diff", a, b).code == 0


@pytest.mark.parametrize("options", [("--limit", 4), ("--split", "train")])
def test_other_documents_are_refused(
    barrow: Callable[..., Any], scored: Callable[..., Path], options: tuple[object, ...]
) -> None:
    a, b = scored("uniform", "a"), scored("uniform", "b", *options)
    assert read_result(a).card.hash != read_result(b).card.hash
    code, out, err = barrow("score", "diff", a, b)
    assert (code, out) == (1, "")
    assert err.startswith("barrow: ")
    assert "other documents were scored: corpus (6 documents) and corpus (" in err
    assert err.count("\n") == 1


def test_other_windows_are_refused(
    barrow: Callable[..., Any], scored: Callable[..., Path], corpus: Path
) -> None:
    (corpus.parent / "flat_model_of_a_test.py").write_text(MODULE)
    name = "flat_model_of_a_test:Flat"
    a, b = (scored(name, f"c{context}", "--context", context) for context in (16, 17))
    assert read_result(a).overall.bpb == pytest.approx(6)
    code, out, err = barrow("score", "diff", a, b, "--json")
    assert (code, out) == (1, "")
    assert "other windows: context 16, stride 8, " in err
    assert "; and context 17, stride 8, " in err
    # What has no windows stands beside either.
    assert barrow("score", "diff", a, scored("uniform", "u")).code == 0


def test_a_card_that_was_changed_is_refused(
    barrow: Callable[..., Any], scored: Callable[..., Path]
) -> None:
    a, b = scored("uniform", "a"), scored("uniform", "b", "--limit", 4)
    data = json.loads((b / "scores.json").read_text())
    data["card"]["ground"] = json.loads((a / "scores.json").read_text())["card"]["ground"]
    (b / "scores.json").write_text(json.dumps(data))
    code, _, err = barrow("score", "diff", a, b)
    assert code == 1
    assert "it was changed" in err
