"""The loop: its files, resuming, stopping (ACCELERATE-11, DEEPSPEED-14, BEYOND-9)."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tests.interrupted import dropped
from tests.parallel.several_processes import xla_flags

from barrow import config
from barrow.checkpoint import Checkpoints, checkpoints
from barrow.errors import CheckpointError, ConfigError, Diverged, StoreError
from barrow.files import locked
from barrow.parallel import watch
from barrow.parallel.processes import Peers
from barrow.stream import Stream
from barrow.train import CheckpointSettings, Constant, EvaluationSettings, Interrupted, Run, fit
from barrow.train.objectives.objective import Objective
from barrow.train.precision import Precision
from barrow.train.program import make_program
from barrow.train.run_folder import about
from barrow.train.step import StepSettings
from barrow.train.trackers import read_log

pytestmark = pytest.mark.usefixtures("compiled_once", "one_device")


def same(left: Any, right: Any) -> bool:
    """Bit for bit."""

    def plain(leaf: Any) -> np.ndarray:
        is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if is_key else leaf)

    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(plain(a).tobytes() == plain(b).tobytes() for a, b in pairs)


def timeless(log: Path) -> list[dict[str, Any]]:
    """The lines of a log without what depends on the machine."""
    timed = ("step_seconds", "tokens_per_second", "host_memory")
    return [{k: v for k, v in line.items() if not k.startswith(timed)} for line in read_log(log)]


def test_what_a_run_leaves_and_that_it_learns(
    run: Run, validation: Path, tmp_path: Path, told: Any
) -> None:
    run = replace(
        run,
        steps=40,
        validation=str(validation),
        evaluation=EvaluationSettings(20, 2),
        log_every=10,
    )
    state = fit(run, tmp_path, trackers=[told])
    assert int(state.step) == 40
    lines = read_log(tmp_path / "log.jsonl")
    assert [line["step"] for line in lines] == [0, 9, 19, 29, 39]
    assert [line["step"] for line in lines if "validation_loss" in line] == [19, 39]
    assert lines[-1]["loss"] < lines[0]["loss"] - 1
    assert lines[-1]["validation_loss"] < lines[2]["validation_loss"] < lines[0]["loss"]
    assert lines[1]["learning_rate"] == pytest.approx(
        float(run.optimizer.schedule.rate(9, 40))  # type: ignore[arg-type]
    )
    assert all(line["tokens"] == 128 and "mfu" not in line for line in lines)
    assert "tokens_per_second" not in lines[0]  # it had the compilation
    assert all(line["tokens_per_second"] > 0 for line in lines[1:])
    # A tracker hears the same.
    assert told.calls[0][0::2] == ("begin", 0)
    assert [(s, v) for s, v in told.calls[1:-1]] == [
        (line["step"], {k: v for k, v in line.items() if k != "step"}) for line in lines
    ]
    assert told.calls[-1] == "close"
    # The settings, the stream, the checkpoints.
    assert config.from_json(Run, (tmp_path / "run.json").read_text()) == run
    steps = Checkpoints(tmp_path / "checkpoints").steps()
    assert steps == [36, 39, 40]
    by_run, by_checkpoint = (
        Stream.load(path) for path in (tmp_path, tmp_path / "checkpoints" / "step-000000040")
    )
    wanted = Stream(run.store, seed=3, seq_len=16, batch=8).batch(5).tokens
    assert (by_run.batch(5).tokens == wanted).all()
    assert (by_checkpoint.batch(5).tokens == wanted).all()
    # A run that is over is not trained again, and tells nothing more.
    again = fit(run, tmp_path)
    assert same(state, again)
    assert read_log(tmp_path / "log.jsonl") == lines


def test_the_loop_is_nothing_but_steps(run: Run, tmp_path: Path) -> None:
    """The state is that of calling the step on the stream's batches, one after another."""
    program = make_program(run)
    state = program.start()
    stream = Stream(run.store, seed=3, seq_len=16, batch=8)
    losses = []
    for step in range(run.steps):
        batch = jax.device_put(stream.batch(step).arrays(), program.placement.rows())
        state, metrics = program.advance(state, batch)
        losses.append(float(metrics.loss.value))
    assert same(state, fit(run, tmp_path))
    for line in read_log(tmp_path / "log.jsonl"):
        assert line["loss"] == losses[line["step"]]
        assert line["bits_per_token"] == pytest.approx(line["loss"] / np.log(2))


def test_the_loop_says_where_it_is(
    run: Run, validation: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Any
) -> None:
    """For other processes that wait (`barrow.parallel.watch`)."""
    here = watch._Watch(None, 0, 2, watch.Limits())
    monkeypatch.setattr(watch, "_running", here)
    begun = []
    monkeypatch.setattr(told, "begin", lambda run, start: begun.extend(here.stack))
    run = replace(run, steps=3, validation=str(validation), evaluation=EvaluationSettings(3, 2))
    fit(run, tmp_path, trackers=[told])
    assert [(state, name) for state, name, *_ in begun] == [("busy", "training")]
    assert list(here.recent.values()) == ["step 0", "step 1", "step 2", "evaluation 2", "save 2"]
    assert here.stack == []


class Ctrl:
    """A tracker that presses Ctrl-C when it hears of a step."""

    def __init__(self, step: int, number: int = signal.SIGINT) -> None:
        self.step, self.number = step, number

    def begin(self, run: Any, start: int) -> None: ...
    def close(self) -> None: ...

    def log(self, step: int, values: Any) -> None:
        if step == self.step:
            os.kill(os.getpid(), self.number)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)]
)
def test_stopping_saves_and_going_on_changes_nothing(
    run: Run, tmp_path: Path, number: int, told: Any
) -> None:
    """N+M steps equal N, restart, M bit for bit; dropout, averages, micro-batches included."""
    run = replace(
        run,
        model=replace(run.model, dropout=0.1),
        data=replace(run.data, batch=16),
        step=StepSettings(accumulate=2, ema=0.9),
    )
    whole = fit(run, tmp_path / "whole")
    handler = signal.getsignal(number)
    with pytest.raises(Interrupted) as stopped:
        fit(run, tmp_path / "parts", trackers=[Ctrl(3, number)])
    assert signal.getsignal(number) is handler
    words = str(stopped.value)
    assert f"barrow train {tmp_path / 'parts'}" in words
    # Step 3 is told while step 4 is computed, which is finished first.
    assert "stopped after step 4, 3 left" in words
    assert Checkpoints(tmp_path / "parts" / "checkpoints").latest() == 5
    parts = fit(run, tmp_path / "parts", trackers=[told])
    assert told.calls[0][2] == 5
    assert same(whole, parts)
    assert timeless(tmp_path / "whole" / "log.jsonl") == timeless(tmp_path / "parts" / "log.jsonl")


def test_a_ctrl_c_that_was_dropped_stops_after_a_step(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Any
) -> None:
    monkeypatch.setattr(told, "begin", lambda *_: dropped())
    with pytest.raises(Interrupted, match="stopped after step 0, 7 left; saved"):
        fit(run, tmp_path, trackers=[told])
    assert Checkpoints(tmp_path / "checkpoints").latest() == 1


def test_a_finished_run_can_be_lengthened(run: Run, tmp_path: Path) -> None:
    """The same bits as a run that was planned that long."""
    run = replace(run, optimizer=replace(run.optimizer, schedule=Constant(peak=1e-2, warmup=2)))
    whole = fit(run, tmp_path / "whole")
    fit(replace(run, steps=5), tmp_path / "parts")
    assert same(whole, fit(run, tmp_path / "parts"))
    with pytest.raises(ConfigError, match="has done 8 steps: steps must be more, got 5"):
        fit(replace(run, steps=5), tmp_path / "parts")


def test_a_process_stops_when_all_have_agreed_to(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process of the run was asked; and one that is asked waits for the rest."""

    def stops(self: Peers, step: int, *, is_asked: bool) -> bool:
        assert is_asked == (step >= 2)
        return step == 4

    monkeypatch.setattr(Peers, "stops", stops)
    with pytest.raises(Interrupted, match="after step 4"):
        fit(replace(run, log_every=1), tmp_path, trackers=[Ctrl(1)])
    assert Checkpoints(tmp_path / "checkpoints").steps() == [3, 5]


def test_lines_of_steps_that_are_done_again_are_cut(run: Run, tmp_path: Path) -> None:
    fit(run, tmp_path)
    wanted = timeless(tmp_path / "log.jsonl")
    Checkpoints(tmp_path / "checkpoints").discard_after(3)
    fit(run, tmp_path)
    assert timeless(tmp_path / "log.jsonl") == wanted


def test_going_on_wants_the_same_settings(run: Run, store: Path, tmp_path: Path) -> None:
    fit(run, tmp_path)
    changed = replace(
        run,
        seed=5,
        optimizer=replace(run.optimizer, weight_decay=0.2),
        log_every=1,
        checkpoint=CheckpointSettings(4),
    )
    with pytest.raises(ConfigError) as error:
        fit(changed, tmp_path)
    words = str(error.value)
    assert "optimizer.weight_decay: 0.1 → 0.2; seed: 0 → 5" in words
    assert "log_every" not in words
    assert "another folder" in words
    # How often something is told or kept may change, and so may the place of the store.
    moved = tmp_path / "moved"
    moved.symlink_to(store)
    fit(replace(run, store=str(moved), log_every=1, checkpoint=CheckpointSettings(4)), tmp_path)


def test_going_on_wants_the_same_store(run: Run, validation: Path, tmp_path: Path) -> None:
    fit(run, tmp_path)
    with pytest.raises(StoreError, match="the stream was saved with store"):
        fit(replace(run, store=str(validation)), tmp_path)


def test_a_cut_checkpoint_is_passed_over_aloud(run: Run, tmp_path: Path) -> None:
    run = replace(run, checkpoint=replace(run.checkpoint, every=2, keep_last=2))
    whole = fit(run, tmp_path)
    before, newest = sorted((tmp_path / "checkpoints").glob("step-*"))
    arrays = newest / "arrays-00000.safetensors"
    os.truncate(arrays, arrays.stat().st_size // 2)
    number = int(before.name.removeprefix("step-"))
    with pytest.warns(UserWarning, match=f"or incomplete; resuming from step {number}$"):
        assert same(whole, fit(run, tmp_path))


def test_a_run_without_a_whole_checkpoint_is_left_alone(run: Run, tmp_path: Path) -> None:
    """Beginning anew would cut its log, and take whatever settings are given."""
    run = replace(run, checkpoint=replace(run.checkpoint, every=2, keep_last=2))
    fit(run, tmp_path)
    for saved in (tmp_path / "checkpoints").glob("step-*"):
        os.truncate(saved / "arrays-00000.safetensors", 100)
    before = (tmp_path / "log.jsonl").read_bytes()
    with pytest.raises(
        CheckpointError, match="incomplete checkpoint.*no checkpoint is complete"
    ) as error:
        fit(replace(run, steps=4), tmp_path)
    assert error.value.reason == "incomplete"
    assert error.value.folder.endswith("step-000000008")
    assert (tmp_path / "log.jsonl").read_bytes() == before


def test_a_checkpoint_of_another_loop(run: Run, tmp_path: Path) -> None:
    """The loop of the documentation saves no losses to hold later ones against."""
    whole = fit(run, tmp_path)
    saved, program = Checkpoints(tmp_path / "checkpoints"), make_program(run)
    saved.discard_after(3)
    state = saved.restore(3, program.shapes)
    saved.save(state, about(run, program.task.data()), wait=True)
    assert same(whole, fit(run, tmp_path))


def test_one_run_at_a_time_in_a_folder(run: Run, tmp_path: Path) -> None:
    """Two would write lines of the same steps, and remove one another's half checkpoints."""
    with (
        locked(tmp_path),
        pytest.raises(FileExistsError, match="another process is training there"),
    ):
        fit(run, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert int(fit(run, tmp_path).step) == run.steps


def test_other_devices_go_on_alike(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint knows nothing of the mesh: ZeRO 3 over eight goes on what one device began."""
    whole = fit(run, tmp_path / "whole")
    with pytest.raises(Interrupted):
        fit(run, tmp_path / "parts", trackers=[Ctrl(3)])
    monkeypatch.undo()  # all eight devices
    parts = fit(replace(run, mesh=replace(run.mesh, data=2, fsdp=4, zero=3)), tmp_path / "parts")
    for one, other in zip(
        jax.tree.leaves(whole.params), jax.tree.leaves(parts.params), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-5)


def poisoned(monkeypatch: pytest.MonkeyPatch, run: Run, step: int, value: float) -> None:
    """Make the loss of one batch `value` times what it is."""
    from barrow.train.tasks import causal as module

    plain = module.causal_objective
    marked = Stream(run.store, seed=3, seq_len=16, batch=8).batch(step).tokens

    def objective(*args: Any, **kwargs: Any) -> Objective:
        loss = plain(*args, **kwargs).loss

        def bad(params: Any, collections: Any, batch: Any, key: Any) -> Any:
            found = loss(params, collections, batch, key)
            is_marked = (batch["tokens"] == marked).all()
            return replace(found, total=found.total * jax.numpy.where(is_marked, value, 1.0))

        return Objective(bad)

    monkeypatch.setattr(module, "causal_objective", objective)


def test_a_loss_that_is_not_finite_stops_the_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(monkeypatch, run, 5, float("nan"))
    with pytest.raises(Diverged) as error:
        fit(run, tmp_path)
    words = str(error.value)
    assert error.value.step == 5
    assert words.startswith("step 5: the gradient of embed/table is not finite (the loss is nan)")
    assert "step 3 is good" in words
    assert f"barrow tokens lineage {tmp_path} --step 5" in words
    assert "row 0: " in words
    assert "-00000001, tokens " in words
    # What is saved is what a run without the trouble saves.
    assert Checkpoints(tmp_path / "checkpoints").steps() == [3]
    assert read_log(tmp_path / "log.jsonl")[-1]["step"] == 5
    assert "loss" not in read_log(tmp_path / "log.jsonl")[-1]
    program = make_program(run)
    kept = Checkpoints(tmp_path / "checkpoints").restore(3, program.shapes)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(kept.params))


def test_trouble_before_anything_was_saved(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(monkeypatch, run, 5, float("nan"))
    with pytest.raises(Diverged, match="there is none yet"):
        fit(replace(run, checkpoint=CheckpointSettings(6)), tmp_path)


def test_a_checkpoint_that_gave_the_bad_loss_is_not_called_good(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(monkeypatch, run, 5, float("nan"))
    # Written only when somebody waits for it: it is under way when the trouble comes.
    write, wait = checkpoints.write_checkpoint, checkpoints.BackgroundSave.wait
    is_awaited = threading.Event()

    def late(*args: Any, **options: Any) -> None:
        assert is_awaited.wait(60)
        is_awaited.clear()
        write(*args, **options)

    def awaiting(self: checkpoints.BackgroundSave) -> None:
        if self._job is not None:
            is_awaited.set()
        wait(self)

    monkeypatch.setattr(checkpoints, "write_checkpoint", late)
    monkeypatch.setattr(checkpoints.BackgroundSave, "wait", awaiting)
    every = replace(run, checkpoint=CheckpointSettings(1, keep_last=2))
    with pytest.raises(Diverged, match="step 4 is good, step 5 gave this loss"):
        fit(every, tmp_path / "two")
    alone = replace(run, checkpoint=CheckpointSettings(5, keep_last=1))
    with pytest.raises(Diverged, match="none is known to be good, step 5 gave this"):
        fit(alone, tmp_path / "one")


def test_a_step_that_spoils_the_parameters_is_not_saved(
    run: Run, validation: Path, tmp_path: Path
) -> None:
    run = replace(
        run,
        validation=str(validation),
        optimizer=replace(run.optimizer, schedule=Constant(peak=1e38)),
        evaluation=EvaluationSettings(1, 1),
        checkpoint=CheckpointSettings(1),
    )
    with pytest.raises(Diverged, match="step 0: the validation loss after it is nan"):
        fit(run, tmp_path)
    assert Checkpoints(tmp_path / "checkpoints").steps() == []


def test_a_loss_that_leaps_stops_the_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(monkeypatch, run, 30, 50.0)
    run = replace(run, steps=40, checkpoint=CheckpointSettings(31))
    with pytest.raises(Diverged, match="step 30: the loss is .* more than 3 times .* the median"):
        fit(run, tmp_path)
    assert Checkpoints(tmp_path / "checkpoints").steps() == []
    state = fit(replace(run, diverged=None), tmp_path)
    assert int(state.step) == 40


def test_an_overflow_of_fp16_is_told_and_skipped(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(monkeypatch, run, 5, float("inf"))
    run = replace(run, step=StepSettings(precision=Precision("fp16")))
    state = fit(run, tmp_path)
    lines = {line["step"]: line for line in read_log(tmp_path / "log.jsonl")}
    assert int(state.step) == 8
    assert lines[5]["overflow"] == "embed/table"
    assert lines[7]["overflows"] == 1
    assert "overflow" not in lines[7]
    assert lines[7]["loss_scale"] == lines[3]["loss_scale"] / 2
    # The schedule stood still for the step that was skipped.
    rate = run.optimizer.schedule.rate
    assert lines[7]["learning_rate"] == pytest.approx(float(rate(6, 8)))  # type: ignore[arg-type]


def test_ids_over_the_vocabulary(run: Run, tmp_path: Path) -> None:
    small = replace(run, model=replace(run.model, vocab_size=256))
    with pytest.raises(ValueError, match=r"step 0, row \d+, column \d+ .* id 256, .* 256 ids"):
        fit(small, tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"store": ""}, "--store FOLDER"),
        ({"data.batch": 12}, "12 rows cannot be divided over 8 devices .* a multiple of 8"),
        ({"data.epochs": {"A": 1.0}, "steps": 999}, "the stream ends after .* the run has 999"),
    ],
)
def test_runs_that_cannot_begin(
    run: Run,
    change: dict[str, Any],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # all eight devices
    changes = [f"{key}={json.dumps(value)}" for key, value in change.items()]
    with pytest.raises(ValueError, match=words):
        fit(config.override(run, changes), tmp_path / "out")
    assert not (tmp_path / "out").exists()


PROGRAM = """
import sys
from pathlib import Path
from barrow import config
from barrow.train import Run, fit
run = config.from_json(Run, Path(sys.argv[1]).read_text())
fit(run, sys.argv[2])
"""


def lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def kill_often(run: Run, folder: Path, compiled: Path, *, kills: int, seed: int) -> Any:
    """The final state of a run whose process is killed at random moments, then let be."""
    settings = folder / "settings.json"
    settings.write_text(config.to_json(run))
    command = [sys.executable, "-c", PROGRAM, str(settings), str(folder / "out")]
    environment = {
        **os.environ,
        "XLA_FLAGS": xla_flags(1),
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    rng = random.Random(seed)
    log = folder / "out" / "log.jsonl"
    killed = 0
    while killed < kills:
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
        # Starting takes long and is not what is tested: wait until it has trained a little. The log
        # is cut when a run goes on, so its growth is counted from the smallest size that is seen.
        few, smallest = rng.randrange(1, 40), lines(log)
        while process.poll() is None and lines(log) < smallest + few:
            smallest = min(smallest, lines(log))
            time.sleep(0.002)
        time.sleep(rng.random() * 0.01)
        process.kill()
        _, told = process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, told
        killed += 1
    return fit(run, folder / "out"), killed


def killable(run: Run) -> Run:
    return replace(
        run,
        steps=150,
        checkpoint=CheckpointSettings(7, keep_last=2),
        log_every=1,
        model=replace(run.model, dropout=0.1),
    )


def test_killed_and_going_on(run: Run, tmp_path: Path, compiled_once: Path) -> None:
    run = killable(run)
    whole = fit(run, tmp_path / "whole")
    state, killed = kill_often(run, tmp_path, compiled_once, kills=1, seed=1)
    assert killed == 1
    assert same(whole, state)
    assert timeless(tmp_path / "whole" / "log.jsonl") == timeless(tmp_path / "out" / "log.jsonl")


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_killed_fifty_times(run: Run, tmp_path: Path, compiled_once: Path) -> None:
    run = replace(killable(run), steps=5000)
    whole = fit(run, tmp_path / "whole")
    state, killed = kill_often(run, tmp_path, compiled_once, kills=50, seed=2)
    assert killed == 50
    assert same(whole, state)
