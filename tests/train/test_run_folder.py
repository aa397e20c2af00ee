from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from barrow import config
from barrow.checkpoint import save_params
from barrow.checkpoint.index import read_index
from barrow.errors import ConfigError, NotFound
from barrow.models.family import described_family
from barrow.stream.saved import Saved
from barrow.tokens import load
from barrow.train import Constant, Cosine, Run, Schedule, WarmupStableDecay
from barrow.train.run_folder import RunFolder, about, read_run
from barrow.train.tasks.token_data import TokenData, token_data


def test_written_and_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is named relative to here is found from elsewhere too."""
    data = token_data(run, vocab_size=259)
    monkeypatch.chdir(tmp_path)
    relative = replace(run, store=os.path.relpath(run.store), validation=os.path.relpath(run.store))
    folder = RunFolder(tmp_path / "deep" / "run")
    folder.write(relative, data)
    assert folder.read() == replace(run, validation=run.store)
    folder.check(run, data, 4)
    with pytest.raises(ConfigError, match=r"other settings \(seed: 0 → 9\)"):
        folder.check(replace(run, seed=9), data, 4)


def test_a_run_and_its_store_may_be_moved_together(run: Run, tmp_path: Path) -> None:
    """The stream and checkpoints name the store relative to themselves, so the model is whole."""
    store = shutil.copytree(run.store, tmp_path / "old" / "store")
    run = replace(run, store=str(store))
    data, folder = token_data(run, vocab_size=259), tmp_path / "old" / "run"
    RunFolder(folder).write(run, data)
    step = folder / "checkpoints" / "step-000000001"
    save_params(step, {"a": np.ones(1)}, about(run, data))
    assert str(tmp_path) not in (folder / "stream.json").read_text()
    assert str(tmp_path) not in (step / "index.json").read_text()
    (tmp_path / "old").rename(tmp_path / "new")
    found = read_index(tmp_path / "new" / step.relative_to(tmp_path / "old")).about
    place = str(tmp_path / "new" / "store")
    assert (found["tokenizer"], found["run"]["store"]) == (f"{place}/tokenizer", place)
    assert Saved.read(tmp_path / "new" / "run").folder == place
    assert Saved.read(tmp_path / "new" / "run" / "checkpoints" / step.name).folder == place
    assert load(found["tokenizer"]).hash == data.store.tokenizer_hash


def test_settings_that_were_changed_are_refused(run: Run, tmp_path: Path) -> None:
    """A flipped bit of the seed would train another model; a folder without sums opens."""
    data = token_data(run, vocab_size=259)
    folder = RunFolder(tmp_path)
    folder.write(run, data)
    for file in (folder.settings, folder.stream):
        whole = file.read_bytes()
        at = whole.index(b'"seed": ') + 8
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        for read in (folder.read, lambda: read_run(folder.settings)):
            with pytest.raises(ConfigError, match=f"{file} was changed .*remove .*SHA256SUMS"):
                read()
        file.write_bytes(whole)
    folder.sums.unlink()
    folder.settings.write_text(config.to_json(replace(run, seed=5)))
    assert folder.read().seed == 5
    folder.write(replace(run, steps=run.steps + 1), data)
    assert folder.read().steps == run.steps + 1


def test_a_kill_while_settings_are_written_leaves_no_sums(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would not be those of the new settings."""
    data, folder = token_data(run, vocab_size=259), RunFolder(tmp_path)
    folder.write(run, data)
    monkeypatch.setattr(TokenData, "save", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        folder.write(replace(run, steps=run.steps + 1), data)
    assert folder.read().steps == run.steps + 1


def planned(run: Run, schedule: Schedule) -> Run:
    return replace(run, optimizer=replace(run.optimizer, schedule=schedule))


def test_which_runs_may_become_longer(run: Run, tmp_path: Path) -> None:
    """Where what is done would have been done at the same learning rates."""
    data, folder = token_data(run, vocab_size=259), RunFolder(tmp_path)
    for schedule in (Constant(warmup=3), WarmupStableDecay(warmup=2, decay=0.25)):
        made = planned(run, schedule)
        folder.write(made, data)
        folder.check(replace(made, steps=100), data, 6)
    # The decay has begun after step 6; a cosine falls from the beginning.
    for schedule, first in (
        (made.optimizer.schedule, 7),
        (Cosine(warmup=2), 3),
        (Constant(warmup=0.5), 0),
    ):
        made = planned(run, schedule)
        folder.write(made, data)
        with pytest.raises(
            ConfigError, match=f"from step {first} on .*init={tmp_path} and another"
        ):
            folder.check(replace(made, steps=100), data, 8)
    with pytest.raises(ConfigError, match="has done 8 steps: steps must be more, got 7"):
        folder.check(replace(made, steps=7), data, 8)


def test_no_folder_of_a_run(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="has no run.json"):
        RunFolder(tmp_path).read()


def test_what_a_checkpoint_tells(run: Run) -> None:
    data = token_data(run, vocab_size=259)
    stream, told = data.stream, about(run, data, more=1)
    assert config.from_dict(Run, told["run"]) == run
    saved = config.from_dict(Saved, told["stream"])
    assert saved == stream.saved()
    assert (told["begin"], told["end"], told["more"]) == (256, 256, 1)
    assert described_family(told, Path()) == run.model
    assert load(told["tokenizer"]).hash == stream.data.store.tokenizer_hash


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"{", "not JSON"), (b"[]", "expected Run"), (b"\xff", "can't decode"), (b"{}", "model")],
)
def test_a_file_that_is_no_run_is_named(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "run.json").write_bytes(data)
    with pytest.raises(ConfigError, match=rf"run\.json: .*{words}"):
        RunFolder(tmp_path).read()
