from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow import Document

GOOD = [
    "mound",
    "stone",
    "river",
    "hill",
    "history",
    "people",
    "built",
    "ancient",
    "carried",
    "buried",
]
BAD = ["click", "buy", "now", "cheap", "offer", "free", "login", "password", "cart", "subscribe"]


def documents(words: list[str], domain: str, number: int = 120) -> list[Document]:
    rng = random.Random(domain)
    return [
        Document(
            " ".join(rng.choices(words, k=40)), {"pile_set_name": domain, "id": f"{domain}{i}"}
        )
        for i in range(number)
    ]


@pytest.fixture
def sources(write: Callable, tmp_path: Path) -> tuple[Path, Path]:
    """An archive of ours, and JSON lines of somebody else."""
    foreign = tmp_path / "bad.jsonl"
    foreign.write_text("".join(json.dumps({"text": d.text}) + "\n" for d in documents(BAD, "B")))
    return write(documents(GOOD, "A")), foreign


def test_train_and_score(barrow: Callable, sources: tuple[Path, Path], tmp_path: Path) -> None:
    model = tmp_path / "model.safetensors"
    code, out, err = barrow("corpus", "classifier", "train", *sources, "--out", model)
    assert (code, err) == (0, "")
    for words in ("AUC 1.0000, accuracy 1.0000", "tested on", "positives kept", "sha256"):
        assert words in out
    card = json.loads(model.with_suffix(".json").read_text())
    assert card["sha256"] in out
    assert card["sources"] == {"positives": [str(sources[0])], "negatives": [str(sources[1])]}
    code, out, err = barrow("corpus", "classifier", "score", model, sources[0], "--examples", 2)
    assert (code, err) == (0, "")
    for words in ("domain", "95%", "≥ 0.5", "Pareto(3)", "100.0%", "nearest to 0.5:", "A A"):
        assert words in out
    code, out, _ = barrow("corpus", "classifier", "score", model, sources[1], "--json")
    report = json.loads(out)
    assert (report["total"]["documents"], report["total"]["above"]) == (120, 0.0)
    assert len(report["examples"]) == 5


def test_training_again_gives_the_same_file(
    barrow: Callable, sources: tuple[Path, Path], tmp_path: Path
) -> None:
    models = [tmp_path / f"{name}.safetensors" for name in "ab"]
    for model in models:
        code, out, _ = barrow("corpus", "classifier", "train", *sources, "--out", model, "--json")
        assert code == 0
        assert json.loads(out)["test"]["auc"] == 1.0
    assert models[0].read_bytes() == models[1].read_bytes()
    barrow("corpus", "classifier", "train", *sources, "--out", models[1], "--seed", 1)
    assert models[0].read_bytes() != models[1].read_bytes()


def test_errors(barrow: Callable, sources: tuple[Path, Path], tmp_path: Path) -> None:
    code, _, err = barrow(
        "corpus", "classifier", "train", *sources, "--out", tmp_path / "model.bin"
    )
    assert (code, "--out is a .safetensors file" in err) == (2, True)
    small = tmp_path / "small.jsonl"
    small.write_text('{"text":"too short"}\n')
    model = tmp_path / "model.safetensors"
    code, _, err = barrow("corpus", "classifier", "train", sources[0], small, "--out", model)
    assert (code, "0 usable negatives are too few" in err) == (1, True)
    assert not model.exists()
    code, _, err = barrow("corpus", "classifier", "score", small, small)
    assert (code, "train one with barrow corpus classifier train" in err) == (
        1,
        True,
    )
    code, _, err = barrow("corpus", "classifier", "score", tmp_path / "none.safetensors", small)
    assert code == 1


def test_bad_input_is_counted(barrow: Callable, sources: tuple[Path, Path], tmp_path: Path) -> None:
    with sources[1].open("a") as file:
        file.write("bad\n")
    model = tmp_path / "model.safetensors"
    arguments = ("corpus", "classifier", "train", *sources, "--out", model)
    assert barrow(*arguments).code == 1
    code, _, err = barrow(*arguments, "--on-bad", "count")
    assert (code, "1 × not-json" in err) == (0, True)
