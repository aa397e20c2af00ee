from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barrow.errors import NotFound, StoreError
from barrow.tokens import TokenStore
from barrow.tokens.store.store_file import dtype_for, read_store_file, write_store_file


def test_it_reads_back(store: TokenStore, tmp_path: Path) -> None:
    assert read_store_file(store.folder) == store.manifest
    write_store_file(tmp_path, store.manifest)
    assert read_store_file(tmp_path) == store.manifest
    assert Path(store.manifest.corpus.path).is_absolute()
    for folder in (tmp_path, store.folder):  # relative there, so that both may be moved
        path = json.loads((folder / "store.json").read_text())["corpus"]["path"]
        assert path.startswith(".")
        assert (folder / path).resolve() == Path(store.manifest.corpus.path)
    assert not list(tmp_path.glob(".*"))


def test_the_narrowest_ids() -> None:
    assert dtype_for(1 << 16) == np.uint16
    assert dtype_for((1 << 16) + 1) == np.uint32


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(
        NotFound, match="is not a token store: it has no store.json; barrow tokenize"
    ):
        read_store_file(tmp_path)
    with pytest.raises(NotFound, match="is not a token store: no such folder"):
        read_store_file(tmp_path / "nowhere")


def twice(told: Any) -> None:
    told["domains"][0]["index"]["name"] = told["domains"][1]["index"]["name"]


def miscount(told: Any) -> None:
    told["domains"][0]["tokens"] += 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.update(version=2), "expected format 'barrow-tokens' version 1, found .* 2; a"),
        (lambda t: t.update(format="x"), "found 'x' version 1"),
        (lambda t: t.update(more=1), "unknown field `more`"),
        (lambda t: t.pop("dtype"), "missing required field `dtype`"),
        (lambda t: t.update(dtype="uint32"), "dtype 'uint32' does not hold 259 ids"),
        (lambda t: t.update(dtype="float16"), "dtype 'float16' does not hold"),
        (twice, "a file is listed twice"),
        (miscount, "the tokens of 'B' are not the sum over its shards"),
    ],
)
def test_what_it_should_not_say(
    store: TokenStore, change: Callable[[Any], None], message: str
) -> None:
    path = store.folder / "store.json"
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))
    with pytest.raises(StoreError, match=message) as caught:
        read_store_file(store.folder)
    assert (caught.value.reason, caught.value.file) == ("bad-store-file", "store.json")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", "link"])
@pytest.mark.parametrize("which", ["index", "shard", "tokenizer"])
def test_it_cannot_lead_out_of_its_folder(store: TokenStore, which: str, name: str) -> None:
    for folder in (store.folder, store.folder / "tokenizer"):
        (folder / "link").symlink_to(Path(__file__))
    path = store.folder / "store.json"
    told = json.loads(path.read_text())
    entry = {
        "index": told["domains"][0]["index"],
        "shard": told["domains"][0]["shards"][0]["file"],
        "tokenizer": told["tokenizer"]["files"][0],
    }[which]
    entry["name"] = name
    path.write_text(json.dumps(told))
    with pytest.raises(StoreError, match="leads out of the folder"):
        read_store_file(store.folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff"])
def test_what_is_no_store_file(store: TokenStore, text: str) -> None:
    (store.folder / "store.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(StoreError, match="expected the store.json of a token store, found"):
        read_store_file(store.folder)


def test_a_domain_listed_twice(store: TokenStore) -> None:
    path = store.folder / "store.json"
    first, second = store.domains[:2]
    path.write_text(path.read_text().replace(json.dumps(second), json.dumps(first)))
    with pytest.raises(StoreError, match="not each listed once"):
        read_store_file(store.folder)
