"""FLAX-8, ACCELERATE-11, DEEPSPEED-14: exact restarts, any number of devices, and clear errors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.checkpoint.runs import advance, bits, make_run, placement, three_steps

from barrow.checkpoint import Checkpoints
from barrow.checkpoint import checkpoints as module
from barrow.checkpoint.checkpoints import BackgroundSave
from barrow.config import from_dict
from barrow.errors import ConfigError
from barrow.files import disk
from barrow.train.loss_scale import LossScale, ScaleSettings
from barrow.train.optimizers import Lion
from barrow.train.precision import Precision
from barrow.train.state import TrainState
from barrow.train.step import StepSettings
from barrow.weights import open_safetensors

FP16 = Precision("fp16", ScaleSettings(start=4.0, growth_every=2))
ARRAYS = "arrays-00000.safetensors"


@pytest.fixture
def saved(tmp_path: Path) -> Checkpoints:
    return three_steps(tmp_path / "checkpoints")


@pytest.mark.parametrize(
    ("optimizer", "settings"),
    [
        ("adamw", StepSettings()),
        ("adamw", StepSettings(Precision("bf16"), accumulate=2, clip=None)),
        ("adamw", StepSettings(FP16, ema=0.9, accumulate=4)),
        ("lion", StepSettings(ema=0.9)),
        ("adafactor", StepSettings()),
        ("muon", StepSettings()),
    ],
    ids=["dropout", "accumulate", "fp16-ema", "lion-ema", "adafactor", "muon"],
)
def test_n_and_m_steps_equal_n_a_restart_and_m(
    tmp_path: Path, optimizer: str, settings: StepSettings
) -> None:
    """ACCELERATE-11, bit for bit: parameters, optimizer, average, scale, collections, key."""
    state, step = make_run(settings, optimizer=optimizer)
    middle = advance(state, step, 3)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(middle, {}, wait=True)
    expected = bits(advance(middle, step, 4))

    fresh, _ = make_run(settings, optimizer=optimizer)
    restored = checkpoints.restore(3, jax.eval_shape(lambda s: s, fresh))
    assert jax.tree.structure(restored) == jax.tree.structure(fresh)
    if settings.precision == FP16:
        assert isinstance(restored.scale, LossScale)
        assert float(restored.scale.scale) == 8.0
    assert bits(advance(restored, step, 4)) == expected


def test_a_restart_on_a_mesh_is_exact_too(tmp_path: Path) -> None:
    state, step = make_run(devices=8)
    middle = advance(state, step, 2)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(middle, {}, wait=True)
    expected = bits(advance(middle, step, 2))
    fresh, _ = make_run(devices=8)
    assert bits(advance(checkpoints.restore(2, fresh), step, 2)) == expected


@pytest.mark.parametrize("into", [8, 4, 2, 1, None])
@pytest.mark.parametrize("out_of", [8, 2])
def test_any_number_of_devices(tmp_path: Path, out_of: int, into: int | None) -> None:
    """DEEPSPEED-14: saved on 8, loaded on 4, 2, 1, and back; the same bits."""
    state, step = make_run(devices=out_of)
    state = advance(state, step, 1)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(state, {}, wait=True)
    expected = bits(state)
    like = jax.eval_shape(lambda s: s, make_run()[0])
    place = None if into is None else placement(into)
    laid = None if place is None else place.of_state(like)
    restored = checkpoints.restore(1, like, shardings=laid)
    assert bits(restored) == expected
    kernel = restored.params["layers"]["mlp"]["kernel"]
    assert len(kernel.sharding.device_set) == (into or 1)
    if place is not None:
        assert kernel.sharding == place.of_state(like).params["layers"]["mlp"]["kernel"]
        assert kernel.addressable_shards[0].data.shape == (2, 8 // (into or 1), 8)
        assert jax.tree.map(lambda x: x.sharding, restored) == place.of_state(like)
    back = Checkpoints(tmp_path / "back")
    back.save(restored, {}, wait=True)
    assert bits(back.restore(1, like, shardings=placement(out_of).of_state(like))) == expected


def test_a_sharded_state_is_written_once_and_in_pieces(tmp_path: Path) -> None:
    state, _ = make_run(devices=8)
    Checkpoints(tmp_path).save(state, {}, wait=True)
    tensors = open_safetensors(tmp_path / "step-000000000" / ARRAYS)
    kernel = "params/layers/mlp/kernel"
    pieces = sorted(name for name in tensors if name.startswith(kernel))
    assert pieces == sorted([kernel, *(f"{kernel}@0,{i},0" for i in range(1, 8))])
    whole = jax.random.key_data(state.key).nbytes
    whole += sum(leaf.nbytes for leaf in jax.tree.leaves(replace(state, key=None)))  # type: ignore[arg-type]
    assert tensors.num_bytes == whole


def test_the_state_is_copied_before_save_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step takes its buffers; what is written is the state as it was."""
    may_write = threading.Event()
    write = module.write_checkpoint

    def late(*arguments: Any, **options: Any) -> None:
        assert may_write.wait(60)
        write(*arguments, **options)

    monkeypatch.setattr(module, "write_checkpoint", late)
    checkpoints = Checkpoints(tmp_path)
    state, step = make_run()
    state = advance(state, step, 1)
    expected = bits(state)
    checkpoints.save(state, {})
    state = advance(state, step, 3)
    assert checkpoints.steps() == []
    may_write.set()
    checkpoints.wait()
    assert bits(checkpoints.restore(1, state)) == expected


def test_one_is_written_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, most = [], []
    write = module.write_checkpoint

    def watched(*arguments: Any, **options: Any) -> None:
        under_way.append(1)
        most.append(len(under_way))
        write(*arguments, **options)
        under_way.pop()

    monkeypatch.setattr(module, "write_checkpoint", watched)
    state, step = make_run()
    with Checkpoints(tmp_path, keep_last=9) as checkpoints:
        for _ in range(4):
            state = advance(state, step, 1)
            checkpoints.save(state, {})
    assert most == [1, 1, 1, 1]
    assert checkpoints.steps() == [1, 2, 3, 4]


def test_about_goes_along(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    settings = Lion(weight_decay=0.25)
    about = {"optimizer": settings, "where": Path("a/b"), "naïve": [1, None, True]}
    checkpoints.save(make_run()[0], about, wait=True)
    told = checkpoints.about(0)
    assert from_dict(Lion, told["optimizer"]) == settings
    assert (told["where"], told["naïve"]) == ("a/b", [1, None, True])
    with pytest.raises(ConfigError, match="nan cannot be saved as JSON"):
        checkpoints.save(make_run()[0], {"loss": float("nan")})
    with pytest.raises(ConfigError, match="a setting cannot be a set"):
        checkpoints.save(make_run()[0], {"what": {1}})


def test_the_last_few_stay_and_every_so_often_one(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep_last=2, keep_every=4)
    state, _ = make_run()
    for number in range(1, 11):
        checkpoints.save(replace(state, step=jnp.int32(number)), {})
    checkpoints.wait()
    assert checkpoints.steps() == [4, 8, 9, 10]
    assert checkpoints.latest() == 10
    assert sorted(os.listdir(tmp_path)) == [f"step-{n:09}" for n in (4, 8, 9, 10)]
    assert Checkpoints(tmp_path / "none").latest() is None


def test_a_run_that_went_back_keeps_what_it_writes(saved: Checkpoints) -> None:
    state, _ = make_run()
    checkpoints = replace(saved, keep_last=1)
    checkpoints.save(replace(state, step=jnp.int32(2)), {"again": True}, wait=True)
    assert checkpoints.steps() == [2, 3]
    assert checkpoints.about(2) == {"again": True}
    checkpoints.discard_after(2)
    assert checkpoints.steps() == [2]


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keep_last must be ≥ 1, got 0"):
        Checkpoints(tmp_path, keep_last=0)
    with pytest.raises(ValueError, match="keep_every must be ≥ 1 or None, got 0"):
        Checkpoints(tmp_path, keep_every=0)
    with pytest.raises(ValueError, match="timeout must be > 0 seconds, got 0"):
        Checkpoints(tmp_path, timeout=0)


def test_a_state_that_a_step_took(tmp_path: Path) -> None:
    state, step = make_run()
    advance(state, step, 1)
    with pytest.raises(ValueError, match="was donated to a step"):
        Checkpoints(tmp_path).save(replace(state, step=jnp.int32(0)), {})


def test_what_killed_writers_left_is_cleaned_away(saved: Checkpoints) -> None:
    folder = saved.folder
    for name in (".step-000000009.part", ".step-000000001.gone", ".step-000000003.before"):
        (folder / name).mkdir()
        (folder / name / "x").write_text("half")
    (folder / "step-000000002").rename(folder / ".step-000000002.before")
    # In the moment of a replacement the old one is still found.
    assert saved.steps() == [1, 2, 3]
    assert saved.about(2) == {"position": 2}
    state, _ = make_run()
    replace(saved, keep_last=9).save(replace(state, step=jnp.int32(4)), {}, wait=True)
    assert sorted(os.listdir(folder)) == [f"step-{n:09}" for n in (1, 2, 3, 4)]


def test_a_killed_removal_is_invisible(saved: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def die(change: str, *_: object) -> None:
        if change == "unlink":
            raise Killed

    monkeypatch.setattr(disk, "before", die)
    with pytest.raises(Killed):
        saved.discard_after(2)
    assert saved.steps() == [1, 2]
    monkeypatch.undo()
    assert len(os.listdir(saved.folder)) == 3
    # A run that goes on removes the rest, and what the killed one had not removed yet.
    replace(saved, keep_last=1).tidy()
    assert os.listdir(saved.folder) == ["step-000000002"]


def test_keys_types_and_empty_arrays_come_back(tmp_path: Path) -> None:
    params = {
        "keys": jax.random.split(jax.random.key(5, impl="rbg"), 3),
        "half": jnp.arange(4, dtype=jnp.bfloat16),
        "small": jnp.arange(4).astype(jnp.float8_e4m3fn),
        "none": None,
        "empty": jnp.zeros((0, 3)),
        "pair": (np.arange(3, dtype=np.int64), jnp.array(True)),
    }
    state = TrainState(jnp.int32(1), params, None, None, jax.random.key(0))
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(state, {}, wait=True)
    like = replace(state, params=params | {"pair": (np.zeros(3, np.int64), params["pair"][1])})
    with jax.enable_x64(True):
        back = checkpoints.restore(1, like)
        assert bits(back) == bits(state)
    assert jax.random.key_impl(back.params["keys"]) == "rbg"
    assert back.params["none"] is None


def fail() -> None:
    raise ValueError("wrong")


def test_a_job_runs_in_the_background_and_the_next_waits() -> None:
    go, order = threading.Event(), []
    saving = BackgroundSave()

    def first() -> None:
        assert go.wait(60)
        order.append(1)

    saving.start(first)
    assert order == []
    threading.Timer(0.05, go.set).start()
    saving.start(lambda: order.append(2))
    assert order[0] == 1
    saving.wait()
    assert order == [1, 2]
    saving.wait()


def test_an_error_is_raised_once_by_what_comes_next() -> None:
    saving, done = BackgroundSave(), []
    saving.start(fail)
    with pytest.raises(ValueError, match="wrong"):
        saving.start(lambda: done.append(1))
    saving.wait()
    assert done == []
    saving.start(fail)
    with pytest.raises(ValueError, match="wrong"):
        saving.wait()
    saving.wait()


def test_a_program_that_ends_finishes_the_job(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from barrow.checkpoint.checkpoints import BackgroundSave\n"
        "def job():\n"
        "    Path(sys.argv[1]).write_text(sys.stdin.readline())\n"
        "BackgroundSave().start(job)\n"
        "print('ends', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, tmp_path / "x"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ends\n"
        process.communicate("done")
    assert process.returncode == 0
    assert (tmp_path / "x").read_text() == "done"


def test_ctrl_c_at_any_instruction_of_a_save_does_not_hang() -> None:
    program = """
from interrupted import at_every_instruction
from barrow.checkpoint.checkpoints import BackgroundSave
def scenario():
    saving = BackgroundSave()
    saving.start(lambda: None)
    saving.start(lambda: None)
    saving.wait()
print(at_every_instruction(scenario))
"""
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert int(done.stdout) > 200
