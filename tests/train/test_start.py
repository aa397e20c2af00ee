"""Runs that begin with the parameters of a model that exists."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from barrow import nn
from barrow.errors import ConfigError
from barrow.models.save import save
from barrow.tokens import load
from barrow.train import AdamW, Constant, Run, TrainState, fit
from barrow.train.run_folder import RunFolder
from barrow.train.start import initial_family

pytestmark = pytest.mark.usefixtures("compiled_once", "one_device")


@pytest.fixture
def before(run: Run, tmp_path: Path) -> tuple[Run, TrainState, Path]:
    """A run of two steps, its last state and its folder."""
    run = replace(run, steps=2)
    return run, fit(run, tmp_path / "before"), tmp_path / "before"


def still(run: Run, init: Path, **changes: Any) -> Run:
    """One step that changes nothing."""
    optimizer = AdamW(Constant(peak=0.0))
    return replace(run, init=str(init), steps=1, optimizer=optimizer, seed=9, **changes)


def test_a_run_begins_with_the_parameters_of_another(
    before: tuple[Run, TrainState, Path], tmp_path: Path
) -> None:
    run, state, folder = before
    after = fit(still(run, folder), tmp_path / "after")
    jax.tree.map(np.testing.assert_array_equal, after.params, state.params)
    assert RunFolder(tmp_path / "after").read().init == str(folder)
    # Read once: what is resumed does not need it.
    fit(still(run, tmp_path / "gone"), tmp_path / "after")


def test_a_hugging_face_folder(before: tuple[Run, TrainState, Path], tmp_path: Path) -> None:
    run, state, _ = before
    save(tmp_path / "hf", run.model.module(), state.params)
    assert replace(initial_family(str(tmp_path / "hf")), init_std=0.02) == run.model
    after = fit(still(run, tmp_path / "hf"), tmp_path / "after")
    for path, ours in nn.paths(after.params).items():
        np.testing.assert_array_equal(ours, nn.paths(state.params)[path], err_msg=path)


def test_parameters_that_one_side_lacks_are_reported(
    before: tuple[Run, TrainState, Path], tmp_path: Path
) -> None:
    run, state, folder = before
    wider = still(run, folder, model=replace(run.model, tied=False))
    with pytest.warns(UserWarning, match="1 missing: head/kernel.*initialised from the seed"):
        after = fit(wider, tmp_path / "after")
    np.testing.assert_array_equal(after.params["embed"]["table"], state.params["embed"]["table"])
    back = still(run, tmp_path / "after")
    with pytest.warns(UserWarning, match="1 unexpected: head/kernel"):
        fit(back, tmp_path / "back")


def test_another_shape_is_refused(before: tuple[Run, TrainState, Path], tmp_path: Path) -> None:
    run, _, folder = before
    other = still(run, folder, model=replace(run.model, vocab_size=300))
    with pytest.raises(ConfigError, match=r"embed/table: expected \[300, 16\], found \[259, 16\]"):
        fit(other, tmp_path / "after")


class Shifted:
    """A tokenizer whose ids mean other bytes."""

    hash, vocab_size = "other", 256

    def token_bytes(self, token: int) -> bytes:
        return load("bytes").token_bytes((token + 1) % 256 if token > 9 else token)


def test_another_vocabulary_is_refused(
    before: tuple[Run, TrainState, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _, folder = before
    monkeypatch.setattr(sys.modules["barrow.train.start"], "store_tokenizer", lambda _: Shifted())
    with pytest.raises(ConfigError, match="in 246 of 256 ids, first 10"):
        fit(still(run, folder), tmp_path / "after")
