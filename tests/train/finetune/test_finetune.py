from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import load_file
from tests.train import labelled_files

from barrow.checkpoint import Checkpoints
from barrow.checkpoint.index import read_index
from barrow.errors import ConfigError, Diverged
from barrow.files import locked
from barrow.models.load import load
from barrow.stream.labelled.examples import read_examples
from barrow.train import Constant, Interrupted, Run, fit
from barrow.train.finetune import finetune as module
from barrow.train.finetune.finetune import Finetuned, Progress, finetune, finetune_run
from barrow.train.finetune.predict import open_finetuned, predictions
from barrow.train.finetune.settings import (
    FinetuneSettings,
    LabelledRows,
    Labels,
    usual_optimizer,
)
from barrow.train.run_folder import RunFolder
from barrow.train.trackers import read_log

pytestmark = pytest.mark.usefixtures("compiled_once")


@pytest.fixture(scope="module", autouse=True)
def one_device() -> Iterator[None]:
    """One of the eight, for which less is to be compiled."""
    first = jax.devices()[:1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "devices", lambda: first)
        yield


@pytest.fixture(scope="module")
def run(roberta_folder: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Nine steps in three epochs; everything that can be set is."""
    path = labelled_files.classes(tmp_path_factory.mktemp("data") / "data.jsonl")
    usual = usual_optimizer()
    settings = FinetuneSettings(
        LabelledRows(str(path), "classify", 0.25, batch=12),
        Labels(("embeddings", "layers:1"), layer_decay=0.5),
        replace(usual, schedule=replace(usual.schedule, peak=1e-2)),
        log_every=1,
    )
    return finetune_run(settings, str(roberta_folder("mlm")))


def with_rows(run: Run, **changes: Any) -> Run:
    """The run with other settings of its rows, which may change the number of its steps."""
    rows = replace(run.data, **changes)
    settings = FinetuneSettings(rows, run.objective, run.optimizer, log_every=1)
    return finetune_run(settings, run.init)


def timeless(log: Path) -> list[dict[str, Any]]:
    timed = ("step_seconds", "rows_per_second", "host_memory")
    return [{k: v for k, v in line.items() if not k.startswith(timed)} for line in read_log(log)]


@pytest.fixture(scope="module")
def done(
    run: Run, compiled_once: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Finetuned]:
    out = tmp_path_factory.mktemp("run")
    return out, finetune(run, out)


class Trouble:
    """Does something to the run once, when a step is told."""

    def __init__(self, step: int, act: Callable[[], None]) -> None:
        self.step, self.act = step, act

    def begin(self, run: Any, start: int) -> None:
        assert start <= self.step

    def log(self, step: int, values: Any) -> None:
        if step == self.step:
            self.act()

    def close(self) -> None:
        pass


def crash() -> None:
    raise ZeroDivisionError("the power went")


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def state_bytes(out: Path) -> dict[str, bytes]:
    """Every file of the last checkpoint that holds arrays."""
    folder = Checkpoints(out / "checkpoints").folder
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.safetensors")
    }


def test_what_is_frozen_keeps_every_bit(
    run: Run, done: tuple[Path, Finetuned], roberta_folder: Callable[[str], Path]
) -> None:
    """ROBERTA-3: and has no state in the optimizer."""
    before = load_file(roberta_folder("mlm") / "model.safetensors")
    after = load_file(done[0] / "best" / "model.safetensors")
    frozen = ("roberta.embeddings.", "roberta.encoder.layer.1.")
    for name, array in after.items():
        if name.startswith("classifier"):
            continue
        is_same = before[name].tobytes() == array.tobytes()
        assert is_same == name.startswith(frozen), name
    (step,) = Checkpoints(done[0] / "checkpoints").steps()
    index = read_index(done[0] / "checkpoints" / f"step-{step:09}")
    held = [path for path in index.leaves if path.startswith("optimizer/")]
    assert any("layers/0/" in path for path in held)
    assert not any("embed" in path or "layers/1/" in path for path in held)


def test_transformers_opens_the_best_model(done: tuple[Path, Finetuned], run: Run) -> None:
    """ROBERTA-3, ROBERTA-4: labels, tokenizer, and the same probabilities."""
    best = done[1].folder
    theirs, told = transformers.RobertaForSequenceClassification.from_pretrained(
        best, output_loading_info=True
    )
    assert not any(told.values()), told
    assert theirs.config.id2label == {0: "early", 1: "late"}
    assert theirs.config.label2id == {"early": 0, "late": 1}
    assert theirs.config.problem_type == "single_label_classification"
    tokenizer = transformers.AutoTokenizer.from_pretrained(best)
    examples = list(read_examples(run.data.path, "classify"))
    for one, said in predictions(open_finetuned(best), examples[:5]):
        with torch.no_grad():
            logits = theirs.eval()(**tokenizer(one.text, return_tensors="pt")).logits
        expected = torch.softmax(logits, -1)[0].tolist()
        assert [said["scores"]["early"], said["scores"]["late"]] == pytest.approx(
            expected, abs=1e-4
        )


def test_the_log_and_the_measures(done: tuple[Path, Finetuned], run: Run) -> None:
    out, ended = done
    logged = read_log(out / "log.jsonl")
    assert [line["step"] for line in logged] == list(range(9))
    epochs = [line for line in logged if "validation_loss" in line]
    assert [line["step"] for line in epochs] == [2, 5, 8]
    best = max(line["validation_accuracy"] for line in epochs)
    assert ended.progress.best == ended.metrics["accuracy"] == best
    assert epochs[ended.progress.best_epoch - 1]["validation_loss"] == ended.metrics["loss"]
    told = json.loads((out / "best" / "metrics.json").read_text())
    assert told["metrics"] == ended.metrics
    assert logged[-1]["learning_rate"] < 0.2 * max(line["learning_rate"] for line in logged)


def test_a_run_goes_on_as_if_it_had_never_stopped(
    run: Run, done: tuple[Path, Finetuned], tmp_path: Path
) -> None:
    """Killed in the second epoch, stopped in the third, with other places for the same data."""
    with pytest.raises(ZeroDivisionError):
        finetune(run, tmp_path / "run", trackers=[Trouble(4, crash)])
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(Path(run.data.path).read_bytes())
    again = replace(run, data=replace(run.data, path=str(moved)))
    with pytest.raises(Interrupted, match="stopped after step 7, 1 left; saved"):
        finetune(again, tmp_path / "run", trackers=[Trouble(6, interrupt)])
    assert Checkpoints(tmp_path / "run" / "checkpoints").steps() == [8]
    ended = finetune(again, tmp_path / "run")
    assert ended.progress == done[1].progress
    assert ended.metrics == done[1].metrics
    assert state_bytes(tmp_path / "run") == state_bytes(done[0])
    for name in ("model.safetensors", "metrics.json", "config.json"):
        assert (ended.folder / name).read_bytes() == (done[1].folder / name).read_bytes()
    assert timeless(tmp_path / "run" / "log.jsonl") == timeless(done[0] / "log.jsonl")
    # A run that has ended is not begun anew.
    assert finetune(again, tmp_path / "run") == ended


def test_early_stopping(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The epoch that was best is the one that stays."""
    values = iter([0.7, 0.6])
    monkeypatch.setattr(module, "evaluate", lambda *_: {"accuracy": next(values)})
    ended = finetune(replace(run, objective=replace(run.objective, patience=1)), tmp_path / "run")
    assert (ended.progress.epochs, ended.progress.best_epoch) == (2, 1)
    assert ended.metrics == {"accuracy": 0.7}
    assert Checkpoints(tmp_path / "run" / "checkpoints").steps() == [6]
    stopped = replace(run, objective=replace(run.objective, patience=1))
    assert finetune(stopped, tmp_path / "run") == ended, "it is over, although steps are left"


def test_another_run_is_refused(run: Run, done: tuple[Path, Finetuned], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"other settings \(data.batch: 12 → 13\)"):
        finetune(with_rows(run, batch=13), done[0])
    other = str(labelled_files.classes(tmp_path / "other.jsonl", seed=1))
    with pytest.raises(
        ConfigError, match="the data or the tokenizer differ from those of this run"
    ):
        finetune(with_rows(run, path=other), done[0])
    (tmp_path / "busy").mkdir()
    with locked(tmp_path / "busy", others="training there"), pytest.raises(FileExistsError):
        finetune(run, tmp_path / "busy")


def test_barrow_train_resumes_it(run: Run, done: tuple[Path, Finetuned], tmp_path: Path) -> None:
    """One `Run`, one loop: what `fit` resumes is the same."""
    Path(tmp_path / "run").mkdir()
    with pytest.raises(ZeroDivisionError):
        finetune(run, tmp_path / "run", trackers=[Trouble(4, crash)])
    fit(RunFolder(tmp_path / "run").read(), tmp_path / "run")
    assert state_bytes(tmp_path / "run") == state_bytes(done[0])


def test_what_diverges(run: Run, tmp_path: Path) -> None:
    wild = replace(run.optimizer, schedule=Constant(peak=1e30))
    with pytest.raises(Diverged, match="step 1: the gradient of .* is not finite") as raised:
        finetune(replace(run, optimizer=wild), tmp_path)
    assert "data.jsonl, line " in str(raised.value)


def test_the_head_is_new_and_the_rest_is_taken_over(
    run: Run, roberta_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    """ROBERTA-3: what was left and what is new is reported; the seed decides the head."""
    still = replace(run.optimizer, schedule=Constant(peak=0.0))
    heads, loaded = [], load(roberta_folder("tag"), unstack=True)
    for number, seed in enumerate((0, 0, 1)):
        settings = FinetuneSettings(run.data, optimizer=still, seed=seed)
        made = finetune_run(settings, str(roberta_folder("tag")))
        with pytest.warns(UserWarning, match="missing: classifier/dense/bias"):
            params = fit(replace(made, steps=1), tmp_path / str(number)).params
        np.testing.assert_array_equal(
            params["layers"][1]["mlp"]["up"]["kernel"],
            loaded.params["layers"][1]["mlp"]["up"]["kernel"],
        )
        heads.append(np.asarray(params["classifier"]["dense"]["kernel"]))
    assert (heads[0] == heads[1]).all()
    assert not (heads[0] == heads[2]).any()
    assert heads[0].std() == pytest.approx(0.3, rel=0.1)  # the file's initializer_range


@pytest.mark.soak
@pytest.mark.parametrize("task", ["tag", "regress"])
def test_other_tasks(task: Any, run: Run, tmp_path: Path) -> None:
    make = {"tag": labelled_files.tags, "regress": labelled_files.numbers}[task]
    path = make(tmp_path / ("x.jsonl" if task == "tag" else "x.csv"), 200)
    slower = replace(run.optimizer, schedule=replace(run.optimizer.schedule, peak=1e-3))
    rows = LabelledRows(str(path), task, 0.25, epochs=40)
    made = finetune_run(FinetuneSettings(rows, optimizer=slower), run.init)
    ended = finetune(made, tmp_path / "run")
    assert ended.metrics["entity_f1" if task == "tag" else "pearson"] > 0.4
    name = "TokenClassification" if task == "tag" else "SequenceClassification"
    opened = getattr(transformers, f"RobertaFor{name}").from_pretrained(ended.folder)
    assert opened.config.num_labels == (2 if task == "tag" else 1)
    assert (opened.config.problem_type == "regression") == (task == "regress")


@pytest.mark.soak
def test_devices_do_not_matter(
    run: Run, done: tuple[Path, Finetuned], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = jax.local_devices()
    monkeypatch.setattr(jax, "devices", lambda: every)
    finetune(run, tmp_path)
    ours, one = (load_file(p / "best" / "model.safetensors") for p in (tmp_path, done[0]))
    for name, array in one.items():
        np.testing.assert_allclose(ours[name], array, atol=1e-4)


def after(metric: str, *values: float) -> Progress:
    progress = Progress(metric)
    for value in values:
        progress = progress.after(value)
    return progress


def test_the_best_epoch() -> None:
    assert after("accuracy", 0.5, 0.7, 0.6) == Progress("accuracy", 3, 2, 0.7)
    assert after("loss", 0.5, 0.7, 0.6) == Progress("loss", 3, 1, 0.5)
    assert after("accuracy", 0.5, 0.5).best_epoch == 1  # the first of equals
    assert after("f1", 0.2, 0.3).was_best
    assert not after("f1", 0.3, 0.2).was_best
    assert not Progress("f1").was_best


def test_what_has_no_value_is_worst() -> None:
    first = after("pearson", math.nan)
    assert (first.best_epoch, first.best, first.was_best) == (1, None, True)
    assert after("pearson", math.nan, math.nan).best_epoch == 1
    assert after("pearson", math.nan, -0.9) == Progress("pearson", 2, 2, -0.9)
    assert after("pearson", -0.9, math.nan).best_epoch == 1


def test_when_it_is_over() -> None:
    progress = after("accuracy", 0.7, 0.6, 0.65)
    assert progress.is_over(epochs=3, patience=None)
    assert not progress.is_over(epochs=4, patience=None)
    assert progress.is_over(epochs=9, patience=2)
    assert not progress.is_over(epochs=9, patience=3)
    assert not Progress("accuracy").is_over(epochs=1, patience=1)
