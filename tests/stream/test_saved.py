from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from barrow import config
from barrow.errors import ConfigError, NotFound, StoreError, WriteFailed
from barrow.stream import Mixture, Stream, StreamSettings, constant
from barrow.stream.saved import Saved

SCHEDULE = constant(seq_len=4, batch=2, mixture=Mixture(weights={"A": 1.0}))
SETTINGS = StreamSettings(seed=1, schedule=SCHEDULE)


def save(path: Path, store: Any, settings: StreamSettings = SETTINGS) -> None:
    Stream(settings.open(store)).save(path)


def test_there_and_back(stores: Callable, tmp_path: Path) -> None:
    store = stores([[5, 6]], folder=tmp_path / "store")
    save(tmp_path / "run.json", store)
    saved = Saved.read(tmp_path / "run.json")
    assert saved.settings == SETTINGS
    assert (saved.folder, saved.identity["store"]) == (str(tmp_path / "store"), store.identity)
    saved.check(SETTINGS.open(store), name="run.json")
    assert os.listdir(tmp_path) == ["run.json"]
    told = json.loads((tmp_path / "run.json").read_text())
    assert (told["format"], told["version"]) == ("barrow-stream", 2)
    assert told["settings"]["object"] == "barrow.stream:StreamSettings"


def test_a_checkpoint_has_one(stores: Callable, tmp_path: Path) -> None:
    save(tmp_path / "stream.json", stores([[5]]))
    assert Saved.read(tmp_path).settings == SETTINGS


def test_a_store_that_is_another(stores: Callable, tmp_path: Path) -> None:
    store = stores([[5, 6]])
    save(tmp_path / "run.json", store)
    saved = Saved.read(tmp_path / "run.json")
    told = f"saved with store {store.identity[:16]}.* has xxxx.*every batch would change"
    with pytest.raises(StoreError, match=told) as error:
        saved.check(SETTINGS.open(replace(store, identity="x" * 64)), name="run.json")
    assert error.value.reason == "other-store"
    with pytest.raises(StoreError, match="tokenizer tttt.* has yyyy") as error:
        saved.check(SETTINGS.open(replace(store, tokenizer_hash="y" * 64)), name="run.json")
    assert error.value.reason == "other-tokenizer"


def test_bad_files(stores: Callable, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such file; barrow tokens stream makes one"):
        Saved.read(tmp_path / "none.json")
    with pytest.raises(NotFound, match=r"the folder has no stream\.json"):
        Saved.read(tmp_path)
    file = tmp_path / "run.json"
    file.write_text("{")
    with pytest.raises(ConfigError, match="is not JSON"):
        Saved.read(file)
    save(file, stores([[5]]))
    told = json.loads(file.read_text())
    for key, value in (("version", 1), ("format", "barrow-tokens"), ("seed", 1)):
        file.write_text(json.dumps({**told, key: value}))
        with pytest.raises(ConfigError, match=key):
            Saved.read(file)


def test_a_failed_write_leaves_what_was_there(stores: Callable, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((OSError, WriteFailed)):
        save(tmp_path / "file" / "run.json", stores([[5]]))
    assert os.listdir(tmp_path) == ["file"]


def test_a_checkpoint_of_a_training_run_tells_of_its_stream(
    stores: Callable, tmp_path: Path
) -> None:
    """Its index.json has it under "about"; a stream.json beside it would come first."""
    store = stores([[5, 6]])
    about = {"stream": config.to_dict(Stream(SETTINGS.open(store)).saved())}
    (tmp_path / "index.json").write_text(json.dumps({"about": about}))
    assert Saved.read(tmp_path).settings == SETTINGS
    assert Saved.read(tmp_path).identity["store"] == store.identity
    save(tmp_path / "stream.json", store, replace(SETTINGS, seed=2))
    assert Saved.read(tmp_path).settings.seed == 2


def test_a_checkpoint_without_a_stream(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text('{"about": {}}')
    with pytest.raises(NotFound, match="a checkpoint without a stream"):
        Saved.read(tmp_path)
