"""Models from a hub on the loopback: cut, wrong, resumed, found again; and files of URLs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import FetchFailed, MissingExtra, NotFound, WeightsError
from barrow.weights import cached, fetch, open_safetensors, where, write_safetensors
from barrow.weights.hub.download import place_of, source_of, sum_in

TENSORS = {f"t{i}": np.full(1000, i, np.float32) for i in range(4)}
NAME = "OWNER/MODEL"
WEIGHTS = "model.safetensors"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def publish(hub: Any, tmp_path: Path) -> Callable[..., None]:
    def call(*, sharded: bool = False) -> None:
        folder = tmp_path / "published"
        write_safetensors(folder, TENSORS, max_shard_bytes=8000 if sharded else 100_000)
        (folder / "config.json").write_text('{"model_type": "x"}')
        (folder / "tokenizer.json").write_text('{"version": "1.0"}')
        (folder / "flax_model.msgpack").write_bytes(b"not wanted")
        hub.publish(folder)
        shutil.rmtree(folder)

    return call


@pytest.mark.parametrize("sharded", [True, False])
def test_a_repository(hub: Any, publish: Callable, cache: Path, sharded: bool) -> None:
    publish(sharded=sharded)
    with pytest.raises(
        NotFound, match="not in the hub's cache; to download it: barrow model get OWNER/MODEL"
    ):
        where(NAME, cache=cache)
    assert cached(cache) == []
    found = fetch(NAME, cache=cache)
    assert open_safetensors(found.path)["t3"][0] == 3
    assert {file.name for file in found.files} == hub.files.keys() - {"flax_model.msgpack"}
    assert found.num_bytes == sum(len(hub.files[file.name]) for file in found.files)
    for file in found.files:
        assert file.resolve().name == hub.sum_of(file.name)
    asked = len(hub.asked())
    assert fetch(NAME, cache=cache) == found
    assert fetch(f"{NAME}@{hub.COMMIT}", cache=cache).path == found.path
    assert len(hub.asked()) == asked  # all of it out of the cache
    everything = len(hub.requests)
    assert where(NAME, cache=cache) == found
    assert cached(cache) == [found]
    assert len(hub.requests) == everything


def test_a_cut_connection_is_resumed(
    hub: Any, publish: Callable, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 500)  # 10 MB as it is
    publish()
    hub.cuts[WEIGHTS] = [1000, 0, 3000]
    found = fetch(NAME, cache=cache)
    assert (found.path / WEIGHTS).read_bytes() == hub.files[WEIGHTS]
    wanted = [wanted for name, wanted in hub.asked() if name == WEIGHTS]
    assert wanted == [None, "bytes=1000-", "bytes=1000-", "bytes=4000-"]


def test_a_connection_that_is_always_cut(hub: Any, publish: Callable, cache: Path) -> None:
    publish()
    hub.cuts[WEIGHTS] = [0] * 100
    with pytest.raises(FetchFailed, match="OWNER/MODEL: "):
        fetch(NAME, cache=cache)
    with pytest.raises(NotFound):
        where(NAME, cache=cache)
    assert cached(cache) == []
    hub.cuts.clear()
    hub.requests.clear()
    assert (fetch(NAME, cache=cache).path / WEIGHTS).read_bytes() == hub.files[WEIGHTS]
    assert [name for name, _ in hub.asked()] == [WEIGHTS]  # the small files were whole


@pytest.mark.parametrize("name", [WEIGHTS, "tokenizer.json"])
def test_wrong_bytes(hub: Any, publish: Callable, cache: Path, name: str) -> None:
    publish()
    hub.sent[name] = hub.files[name][:-1] + b"?"
    with pytest.raises(FetchFailed, match=rf"{name}: expected sha\d+ {hub.sum_of(name)}, got"):
        fetch(NAME, cache=cache)
    hub.sent.clear()
    assert (fetch(NAME, cache=cache).path / name).read_bytes() == hub.files[name]


def change(file: Path) -> None:
    """Other bytes, with the same size and date."""
    status = file.stat()
    data = file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_hashed_once_and_again_with_verify(hub: Any, publish: Callable, cache: Path) -> None:
    publish()
    found = fetch(NAME, cache=cache)
    change((found.path / WEIGHTS).resolve())
    assert fetch(NAME, cache=cache) == found  # by size and date, it is what was hashed
    with pytest.raises(FetchFailed, match=rf"{WEIGHTS}: expected sha256 .*; deleted, run again"):
        fetch(NAME, cache=cache, verify=True)
    assert fetch(NAME, cache=cache, verify=True) == found
    assert (found.path / WEIGHTS).read_bytes() == hub.files[WEIGHTS]


def test_what_was_not_hashed_yet_is_hashed(hub: Any, publish: Callable, cache: Path) -> None:
    """A run that was stopped after the download, or another program that downloaded."""
    publish()
    found = fetch(NAME, cache=cache)
    shutil.rmtree(cache / "hashed")
    change((found.path / WEIGHTS).resolve())
    with pytest.raises(FetchFailed, match="expected sha256"):
        fetch(NAME, cache=cache)


def test_weights_that_are_only_pickled(hub: Any, publish: Callable, cache: Path) -> None:
    publish()
    del hub.files[WEIGHTS]
    with pytest.raises(NotFound, match="OWNER/MODEL has no model.safetensors.index.json, model"):
        fetch(NAME, cache=cache)


def test_a_pickle(hub: Any, publish: Callable, cache: Path) -> None:
    publish()
    hub.files["pytorch_model.bin"] = hub.files.pop(WEIGHTS)
    assert (fetch(NAME, cache=cache).path / "pytorch_model.bin").is_file()


def test_an_index_cannot_lead_out_of_the_folder(hub: Any, publish: Callable, cache: Path) -> None:
    publish()
    index = {"weight_map": {"a": "../../../evil.safetensors"}}
    hub.files["model.safetensors.index.json"] = json.dumps(index).encode()
    with pytest.raises(WeightsError, match="leads out of the folder"):
        fetch(NAME, cache=cache)


@pytest.mark.parametrize(
    ("code", "status", "kind", "words"),
    [
        ("RepoNotFound", 404, NotFound, "OWNER/MODEL at main does not exist"),
        ("RevisionNotFound", 404, NotFound, "OWNER/MODEL at main does not exist"),
        ("GatedRepo", 403, FetchFailed, "permission denied; set HF_TOKEN"),
        ("", 400, FetchFailed, "OWNER/MODEL: "),
    ],
)
def test_refusals(
    hub: Any, cache: Path, code: str, status: int, kind: type[Exception], words: str
) -> None:
    hub.refuses = (code, status)
    with pytest.raises(kind, match=words) as caught:
        fetch(NAME, cache=cache)
    assert "\n" not in str(caught.value)


def test_offline(cache: Path, hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(FetchFailed, match="HF_HUB_OFFLINE"):
        fetch(NAME, cache=cache)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(FetchFailed, match="not in the cache, and HF_HUB_OFFLINE is set"):
        fetch("clip-RN50", cache=cache)
    assert hub.requests == []


def test_without_the_library(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"pip install '.\[hub\]'"):
        fetch(NAME, cache=cache)
    with pytest.raises(MissingExtra):
        where(NAME, cache=cache)
    assert cached(cache) == []


def test_what_can_be_asked_for() -> None:
    for what in ("owner/model", "owner/model@v1.0", "https://host/a.gguf"):
        assert source_of(what) == what
    assert source_of("GPT2") == "openai-community/gpt2"


@pytest.mark.parametrize(
    ("what", "sha256", "words"),
    [
        ("gtp2", None, "got 'gtp2'; did you mean 'gpt2'"),
        ("", None, "expected a known name, a URL or OWNER/MODEL, got ''"),
        ("../x", None, "expected a known name"),
        ("a/..", None, "expected a known name"),
        ("a/b@../c", None, "expected a known name"),
        ("a/b", "0" * 64, "sha256 is for one file, but a/b is a repository"),
        ("ftp://host/x", "0" * 64, "expected an http or https URL, got 'ftp://host/x'"),
        ("https://h/x", None, "https://h/x needs the SHA-256 of its file"),
        ("https://h/x", "abc", "needs the SHA-256 of its file, 64 hexadecimal digits"),
    ],
)
def test_what_cannot(cache: Path, what: str, sha256: str | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fetch(what, cache=cache, sha256=sha256)


@given(st.text(max_size=30))
def test_no_text_leads_out_of_the_cache(text: str) -> None:
    for what in (text, f"a/{text}", f"a/b@{text}"):
        try:
            source = source_of(what)
        except ValueError:
            continue
        assert "://" in source or (".." not in source and not source.startswith((".", "/")))


DATA = bytes(range(256)) * 40
SUM = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def url(hub: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    hub.files["m.pt"] = DATA
    return f"{hub.url}/OWNER/MODEL/resolve/{hub.COMMIT}/m.pt"


def test_a_file(hub: Any, url: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is not in the cache"):
        where(url, cache=tmp_path)
    came: list[int] = []
    found = fetch(url, cache=tmp_path, sha256=SUM.upper(), on_bytes=came.append)
    assert found.path.read_bytes() == DATA
    assert (found.num_bytes, sum(came), found.path.name) == (len(DATA), len(DATA), "m.pt")
    asked = len(hub.requests)
    assert fetch(url, cache=tmp_path, sha256=SUM) == where(url, cache=tmp_path) == found
    assert [entry.path for entry in cached(tmp_path)] == [found.path]
    assert len(hub.requests) == asked


def test_wrong_bytes_of_a_url(hub: Any, url: str, tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match=f"expected SHA-256 {'0' * 64}, got {SUM} of 10,240"):
        fetch(url, cache=tmp_path, sha256="0" * 64)
    hub.cuts["m.pt"] = [1000]
    with pytest.raises(FetchFailed, match="of 1,000 bytes|cut after"):
        fetch(url, cache=tmp_path, sha256=SUM)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "hub" not in path.parts]


def test_changed_on_the_disk(url: str, tmp_path: Path) -> None:
    found = fetch(url, cache=tmp_path, sha256=SUM)
    found.path.write_bytes(DATA[::-1])
    with pytest.raises(FetchFailed, match=f"expected SHA-256 {SUM}, got .*: delete it"):
        fetch(url, cache=tmp_path, sha256=SUM, verify=True)


def test_nothing_there(hub: Any, url: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="HTTP 404"):
        fetch(url + "x", cache=tmp_path, sha256=SUM)
    hub.refuses = ("", 500)
    with pytest.raises(FetchFailed, match="HTTP 500"):
        fetch(url, cache=tmp_path, sha256=SUM)
    with pytest.raises(FetchFailed, match="a proxy is taken from https_proxy"):
        fetch("http://127.0.0.1:1/m.pt", cache=tmp_path, sha256=SUM)


def test_a_sum_in_the_address() -> None:
    assert sum_in(f"https://h/a/{SUM}/m.pt") == SUM
    assert sum_in(f"https://h/a/{SUM}") is None
    assert sum_in(f"https://h/a/m.pt?x=/{SUM}/") is None


@given(st.text(max_size=30))
def test_no_address_leads_out_of_the_cache(text: str) -> None:
    try:
        place = place_of(f"http://h/{text}", Path("/cache"))
    except ValueError:
        return
    assert place.parent.parent == Path("/cache/models")
    assert not place.name.startswith(".")
    assert not set(place.name) & set("/\\\0")
