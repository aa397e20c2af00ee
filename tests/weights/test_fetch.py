"""The cache: repositories and files from a loopback server, found again, one process at a time."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barrow.errors import FetchFailed, NotFound, WeightsError
from barrow.weights import FetchSettings, cached, fetch, open_safetensors, where, write_safetensors

TENSORS = {f"t{i}": np.full(10, i, np.float32) for i in range(4)}


def publish(web: Any, tmp_path: Path, *, sharded: bool, revision: str = "main") -> None:
    folder = tmp_path / f"published-{sharded}"
    write_safetensors(folder, TENSORS, max_shard_bytes=80 if sharded else 1000)
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    for file in folder.iterdir():
        web.files[f"/owner/model/resolve/{revision}/{file.name}"] = file.read_bytes()


@pytest.mark.parametrize("sharded", [True, False])
def test_a_repository(web: Any, tmp_path: Path, fetching: FetchSettings, sharded: bool) -> None:
    publish(web, tmp_path, sharded=sharded)
    found = fetch("owner/model", settings=fetching)
    assert found.path == fetching.cache / "models" / "owner--model@main"
    assert open_safetensors(found.path)["t3"][0] == 3
    names = {file.path.name for file in found.files}
    assert {"config.json", "tokenizer.json"} < names
    assert len(names) == (5 if sharded else 3)
    for file in found.files:
        assert file.sha256 == hashlib.sha256(file.path.read_bytes()).hexdigest()
    asked = len(web.requests)
    assert fetch("owner/model", settings=fetching) == found
    assert where("owner/model", settings=fetching) == found
    assert fetch("owner/model", settings=replace(fetching, offline=True)) == found
    assert len(web.requests) == asked  # all of it out of the cache


def test_a_revision(web: Any, tmp_path: Path, fetching: FetchSettings) -> None:
    publish(web, tmp_path, sharded=False, revision="v2")
    found = fetch("owner/model@v2", settings=fetching)
    assert found.path.name == "owner--model@v2"
    with pytest.raises(NotFound, match="is owner/model a model, and main one of its revisions"):
        fetch("owner/model", settings=fetching)


def test_a_file(web: Any, fetching: FetchSettings) -> None:
    web.files["/a/m.gguf"] = b"weights"
    digest = hashlib.sha256(b"weights").hexdigest()
    found = fetch(f"{web.url}/a/m.gguf", settings=fetching, sha256=digest)
    assert found.path.name == "m.gguf"
    assert found.path.read_bytes() == b"weights"
    assert found.num_bytes == 7
    assert [entry.what for entry in cached(fetching)] == [f"{web.url}/a/m.gguf"]
    with pytest.raises(FetchFailed, match=f"expected sha256 {'0' * 64}, the cache has {digest}"):
        fetch(f"{web.url}/a/m.gguf", settings=fetching, sha256="0" * 64)


def test_changed_bytes_in_the_cache(web: Any, fetching: FetchSettings) -> None:
    web.files["/m"] = b"weights"
    digest = hashlib.sha256(b"weights").hexdigest()
    found = fetch(f"{web.url}/m", settings=fetching, sha256=digest)
    found.path.write_bytes(b"wEights")
    with pytest.raises(FetchFailed, match="delete it and fetch again"):
        fetch(f"{web.url}/m", settings=fetching, sha256=digest)
    found.path.write_bytes(b"short")  # seen by its size, and mended
    assert fetch(f"{web.url}/m", settings=fetching).path.read_bytes() == b"weights"


def test_a_fetch_that_was_stopped_is_gone_on_with(
    web: Any, tmp_path: Path, fetching: FetchSettings
) -> None:
    publish(web, tmp_path, sharded=True)
    second = "/owner/model/resolve/main/model-00002-of-00002.safetensors"
    kept = web.files.pop(second)
    with pytest.raises(NotFound, match="model-00002-of-00002.safetensors does not exist"):
        fetch("owner/model", settings=fetching)
    assert cached(fetching) == []
    with pytest.raises(NotFound):
        where("owner/model", settings=fetching)
    web.files[second] = kept
    web.requests.clear()
    assert len(open_safetensors(fetch("owner/model", settings=fetching).path)) == 4
    assert "model-00001" not in str(web.requests)


def test_weights_that_are_only_pickled(web: Any, fetching: FetchSettings) -> None:
    web.files["/owner/model/resolve/main/config.json"] = b"{}"
    with pytest.raises(NotFound, match="has neither model.safetensors.index.json, model.safete"):
        fetch("owner/model", settings=fetching)
    web.files["/owner/model/resolve/main/pytorch_model.bin"] = b"PK"
    files = fetch("owner/model", settings=fetching).files
    assert [file.path.name for file in files] == ["config.json", "pytorch_model.bin"]


def test_an_index_cannot_lead_out_of_the_folder(web: Any, fetching: FetchSettings) -> None:
    base = "/owner/model/resolve/main"
    web.files[f"{base}/config.json"] = b"{}"
    index = {"weight_map": {"a": "../../../evil.safetensors"}}
    web.files[f"{base}/model.safetensors.index.json"] = json.dumps(index).encode()
    with pytest.raises(WeightsError, match="expected the name of a file beside the index"):
        fetch("owner/model", settings=fetching)


def test_offline(web: Any, fetching: FetchSettings) -> None:
    settings = replace(fetching, offline=True)
    with pytest.raises(FetchFailed) as caught:
        fetch("owner/model", settings=settings)
    for words in ("BARROW_OFFLINE", str(settings.cache / "models" / "owner--model@main"), "config"):
        assert words in str(caught.value)
    with pytest.raises(FetchFailed, match=f"it would come from {web.url}/m.gguf into .*m.gguf"):
        fetch(f"{web.url}/m.gguf", settings=settings)
    assert web.requests == []
    assert not settings.cache.exists()


def test_what_is_not_in_the_cache(fetching: FetchSettings) -> None:
    with pytest.raises(NotFound, match="owner/model is not in the cache; it would be .*models get"):
        where("owner/model", settings=fetching)
    assert cached(fetching) == []


@pytest.mark.parametrize("note", ["", "[]", '{"files": 3}', '{"what": "x", "files": []}'])
def test_a_note_that_is_broken_is_no_note(web: Any, fetching: FetchSettings, note: str) -> None:
    web.files["/m"] = b"weights"
    found = fetch(f"{web.url}/m", settings=fetching)
    (found.path.parent / "fetched.json").write_text(note)
    assert cached(fetching) == []
    assert fetch(f"{web.url}/m", settings=fetching) == found


def get(url: str, settings: FetchSettings, answers: Any) -> None:
    answers.put(fetch(url, settings=settings).path.read_bytes())


def test_two_processes_do_not_clash(web: Any, fetching: FetchSettings) -> None:
    web.files["/m"] = b"weights" * 100_000
    started = threading.Event()
    web.on_request = lambda _: started.wait(0.3)  # so that both are under way
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    workers = [
        context.Process(target=get, args=(f"{web.url}/m", fetching, answers)) for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    got = [answers.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    assert got == [web.files["/m"]] * 3
    assert len(web.requests) == 1
