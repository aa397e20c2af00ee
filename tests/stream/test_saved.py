from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from barrow import config
from barrow.errors import ConfigError, NotFound, StoreError
from barrow.stream import Mixture, StreamSettings, constant
from barrow.stream.saved import check_store, read_saved, save_stream, saved_stream

SETTINGS = StreamSettings(1, constant(seq_len=4, batch=2, mixture=Mixture(weights={"A": 1.0})))


def test_there_and_back(stores: Callable, tmp_path: Path) -> None:
    store = stores([[5, 6]], folder=tmp_path / "store")
    save_stream(tmp_path / "run.json", store, SETTINGS)
    saved = read_saved(tmp_path / "run.json")
    assert saved.settings == SETTINGS
    assert (saved.store, saved.identity) == (str(tmp_path / "store"), store.identity)
    check_store(saved, store, name="run.json")
    assert os.listdir(tmp_path) == ["run.json"]
    assert json.loads((tmp_path / "run.json").read_text())["format"] == "barrow-stream"


def test_a_checkpoint_has_one(stores: Callable, tmp_path: Path) -> None:
    save_stream(tmp_path / "stream.json", stores([[5]]), SETTINGS)
    assert read_saved(tmp_path).settings == SETTINGS


def test_a_store_that_is_another(stores: Callable, tmp_path: Path) -> None:
    store = stores([[5, 6]])
    save_stream(tmp_path / "run.json", store, SETTINGS)
    saved = read_saved(tmp_path / "run.json")
    told = f"saved with store {store.identity[:16]}.* is xxxx.*have changed"
    with pytest.raises(StoreError, match=told) as error:
        check_store(saved, replace(store, identity="x" * 64), name="run.json")
    assert error.value.reason == "other-store"
    with pytest.raises(StoreError, match="tokenizer tttt.* has yyyy.*mean something") as error:
        check_store(saved, replace(store, tokenizer_hash="y" * 64), name="run.json")
    assert error.value.reason == "other-tokenizer"


def test_bad_files(stores: Callable, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such file; barrow stream makes one"):
        read_saved(tmp_path / "none.json")
    with pytest.raises(NotFound, match=r"the folder has no stream\.json"):
        read_saved(tmp_path)
    file = tmp_path / "run.json"
    file.write_text("{")
    with pytest.raises(ConfigError, match="is not JSON"):
        read_saved(file)
    save_stream(file, stores([[5]]), SETTINGS)
    told = json.loads(file.read_text())
    for key, value in (("version", 2), ("format", "barrow-tokens"), ("seed", 1)):
        file.write_text(json.dumps({**told, key: value}))
        with pytest.raises(ConfigError, match=key):
            read_saved(file)


def test_a_failed_write_leaves_what_was_there(stores: Callable, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save_stream(tmp_path / "nowhere" / "run.json", stores([[5]]), SETTINGS)
    assert os.listdir(tmp_path) == []


def test_a_checkpoint_of_a_training_run_tells_of_its_stream(
    stores: Callable, tmp_path: Path
) -> None:
    """Its index.json has it under "about"; a stream.json beside it would come first."""
    store = stores([[5, 6]])
    about = {"stream": config.to_dict(saved_stream(store, SETTINGS))}
    (tmp_path / "index.json").write_text(json.dumps({"about": about}))
    assert read_saved(tmp_path).settings == SETTINGS
    assert read_saved(tmp_path).identity == store.identity
    save_stream(tmp_path / "stream.json", store, replace(SETTINGS, seed=2))
    assert read_saved(tmp_path).settings.seed == 2


def test_a_checkpoint_without_a_stream(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text('{"about": {}}')
    with pytest.raises(NotFound, match="tells of no stream"):
        read_saved(tmp_path)
