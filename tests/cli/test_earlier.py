"""What an earlier version wrote opens, resumes, extends and scores as it did."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tests.earlier.folders import earlier_folders
from tests.places import naming

from barrow.models.open_model import open_model
from barrow.tokens import open_store

pytestmark = pytest.mark.usefixtures("one_device")


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return earlier_folders(tmp_path_factory.mktemp("earlier"))


@pytest.fixture
def copied(earlier: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A copy of one of the folders."""
    return lambda name: shutil.copytree(earlier / name, tmp_path / name)


def arrays(checkpoint: Path) -> dict[str, np.ndarray]:
    return {
        name: array
        for path in checkpoint.glob("*.safetensors")
        for name, array in load_file(path).items()
    }


def test_a_run_resumes_where_it_was_stopped(
    barrow: Callable, copied: Callable, earlier: Path
) -> None:
    run = copied("run")
    last = run / "checkpoints/step-000000004"
    wanted = arrays(last)
    shutil.rmtree(last)
    code, out, err = barrow("train", run)
    assert code == 0, err
    assert "step 3/4" in out + err
    # The settings name their data by absolute paths; nothing else that is written does.
    written = [*last.iterdir(), run / "stream.json"]
    assert naming(earlier.parent.parent, written) == []
    trained = arrays(last)
    assert trained.keys() == wanted.keys()
    start = arrays(run / "checkpoints/step-000000002")
    for name, array in wanted.items():
        np.testing.assert_allclose(trained[name], array, rtol=1e-3, atol=1e-6, err_msg=name)
    assert any((start[name] != array).any() for name, array in wanted.items())


def test_a_store_and_a_score_card_are_continued(
    barrow: Callable, earlier: Path, tmp_path: Path
) -> None:
    """The corpus grows; the store follows; the model's score of the test split is as it was."""
    for name in ("raw", "tok", "corpus", "store"):
        shutil.copytree(earlier / name, tmp_path / name)
    shutil.copy(earlier / "recipe.json", tmp_path)
    before = ids_of(tmp_path / "store")
    code, _, err = barrow("score", earlier / "run", earlier / "corpus", "--out", tmp_path / "score")
    assert code == 0, err
    results = [
        json.loads((folder / "scores.json").read_text())
        for folder in (earlier / "scores/run", tmp_path / "score")
    ]
    assert results[0]["card"] == results[1]["card"]
    for was, now in zip(*(result["domains"] for result in results), strict=True):
        assert {key: now[key] for key in ("name", "documents", "bytes", "tokens")} == {
            key: was[key] for key in ("name", "documents", "bytes", "tokens")
        }
        # Optimised programs, which `make soak` runs, give the same bits on the same processor.
        assert now["nats"] == pytest.approx(was["nats"], rel=1e-6)

    (tmp_path / "raw/notes/new.txt").write_text(
        "A new letter about the quiet market near a gate.\n"
    )
    arguments = ("--root", tmp_path / "raw", "--out", tmp_path / "corpus", "--workers", 0)
    assert barrow("build", tmp_path / "recipe.json", *arguments).code == 0
    arguments = ("--tokenizer", tmp_path / "tok", "--out", tmp_path / "store", "--workers", 0)
    assert barrow("tokenize", tmp_path / "corpus", *arguments).code == 0
    assert naming(tmp_path.parent, [tmp_path / "store", tmp_path / "score"]) == []
    after = ids_of(tmp_path / "store")
    assert len(after.keys() & before.keys()) > 30
    assert all(after[name] == before[name] for name in after.keys() & before.keys())


def ids_of(folder: Path) -> dict[str, list[int]]:
    store = open_store(folder)
    entries = [store.document(number) for number in range(store.num_documents)]
    places = {entry.name: place for place, entry in enumerate(store.manifest.domains)}
    return {
        entry.identity: store.read(places[entry.domain], entry.start, entry.stop).tolist()
        for entry in entries
    }


@pytest.mark.parametrize("folder", ["int8", "hf", "model.gguf", "sft", "masked"])
def test_models_open(earlier: Path, folder: str) -> None:
    """The exports give what the run gives: int8 and float16 nearly, hf exactly."""
    loaded = open_model(earlier / folder)
    tokens = np.arange(2, 22)[None]
    if folder == "masked":
        assert loaded.model.apply(loaded.params, tokens).shape[:2] == (1, 20)
        return
    run = open_model(earlier / "run")
    wanted = np.asarray(run.model.apply(run.params, tokens)[0])
    logits = np.asarray(loaded.model.apply(loaded.params, tokens)[0])
    error = {"hf": 1e-5, "model.gguf": 2e-3}.get(folder, 0.01)
    assert np.abs(logits - wanted).max() <= error * np.abs(wanted).max()
    assert np.abs(wanted).max() > 0.1
