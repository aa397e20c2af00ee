from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from barrow.errors import NotFound
from barrow.tokens import JsonTokenizer, TokenStore
from barrow.tokens.store import token_file
from barrow.tokens.store.array_file import read_header, read_rows
from barrow.tokens.store.join import check_sha256
from barrow.tokens.store.verify import verify_store
from barrow.tokens.tokenizer_json import check


def reasons(store: TokenStore) -> set[str]:
    return {problem.reason for problem in verify_store(store.folder).problems}


def test_whole(store: TokenStore) -> None:
    told: list[int] = []
    result = verify_store(store.folder, on_progress=told.append)
    assert result.ok
    assert not result.problems
    assert (result.num_documents, result.num_tokens) == (300, store.num_tokens)
    files = [*store.folder.glob("*.safetensors"), *store.tokenizer_folder.iterdir()]
    assert result.num_files == len(files)
    assert result.num_bytes == sum(told) == sum(file.stat().st_size for file in files)


@pytest.mark.parametrize("pattern", ["tokens-*", "index-*", "tokenizer/*"])
def test_any_flipped_byte_is_found(store: TokenStore, pattern: str) -> None:
    """A flipped byte."""
    path = sorted(store.folder.glob(pattern))[-1]
    data = path.read_bytes()
    for at in range(0, len(data), max(1, len(data) // 15)):
        changed = bytearray(data)
        changed[at] ^= 16
        path.write_bytes(changed)
        (problem,) = verify_store(store.folder).problems
        assert (problem.reason, problem.file) == ("wrong-checksum", path.name)
    path.write_bytes(data)
    assert verify_store(store.folder).ok


def test_files_that_are_missing_cut_off_or_too_many(store: TokenStore) -> None:
    first, second = sorted(store.folder.glob("tokens-*"))[:2]
    first.unlink()
    with second.open("r+b") as file:
        file.truncate(100)
    (store.folder / "stray.safetensors").write_bytes(b"")
    gone = next(store.tokenizer_folder.iterdir())
    gone.unlink()
    problems = verify_store(store.folder).problems
    assert sorted((p.reason, p.file) for p in problems) == sorted(
        [
            ("missing-file", gone.name),
            ("missing-file", first.name),
            ("wrong-size", second.name),
            ("unexpected-file", "stray.safetensors"),
        ]
    )


def test_a_store_file_that_cannot_be_read(store: TokenStore, tmp_path: Path) -> None:
    (store.folder / "store.json").write_text("{}")
    assert reasons(store) == {"bad-store-file"}
    with pytest.raises(NotFound, match="is not a token store"):
        verify_store(tmp_path)


def forge(store: TokenStore, path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change arrays of a file, and give it the checksum of what it is now."""
    import hashlib

    data = bytearray(path.read_bytes())
    old = hashlib.sha256(data).hexdigest()
    places = read_header(path).places
    change(
        {
            name: np.frombuffer(data, p.dtype, int(np.prod(p.shape)), p.start).reshape(p.shape)
            for name, p in places.items()
        }
    )
    path.write_bytes(data)
    text = (store.folder / "store.json").read_text()
    assert old in text
    new = hashlib.sha256(data).hexdigest()
    (store.folder / "store.json").write_text(text.replace(old, new))
    check_sha256(path, new)


def set_at(name: str, at: Any, value: int) -> Callable[[dict[str, Any]], None]:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name][at] = value

    return change


@pytest.mark.parametrize(
    ("pattern", "change", "reason", "words"),
    [
        ("tokens-*", set_at("ids", 1, 259), "id-over-vocabulary", "token 1 is 259 of 259 ids"),
        ("tokens-*", set_at("ids", 0, 7), "bad-document", "must begin a document with 256, got"),
        ("tokens-*", set_at("offsets", 0, 1), "bad-offsets", "expected offsets rising from 0 to"),
        ("tokens-*", set_at("offsets", 3, 10**6), "bad-offsets", "expected offsets rising"),
        ("tokens-*", set_at("offsets", -1, 0), "bad-offsets", "expected offsets rising"),
        ("tokens-*", set_at("pieces", (0, 0), 1), "unknown-source", "does not list 0000000000"),
        ("index-*", set_at("starts", 2, 10**6), "bad-index", "not where the documents of tokens-"),
    ],
)
def test_what_is_wrong_though_checksums_fit(
    store: TokenStore, pattern: str, change: Any, reason: str, words: str
) -> None:
    path = sorted(store.folder.glob(pattern))[0]
    forge(store, path, change)
    (problem,) = verify_store(store.folder).problems
    assert (problem.reason, problem.file) == (reason, path.name)
    assert words in str(problem)


def test_the_end_of_documents(
    make: Callable[..., TokenStore], archive: Path, trained: JsonTokenizer
) -> None:
    """A tokenizer with an end id: the last id of every document is looked at."""
    around = {"type": "BertProcessing", "cls": ["a", 97], "sep": ["b", 258]}
    tokenizer = JsonTokenizer(check({**trained._file.data, "post_processor": around}, "here"))
    made = make(archive, "ended", tokenizer=tokenizer)
    assert (made.begin, made.end) == (97, 258)
    assert verify_store(made.folder).ok
    path = made.folder / "store.json"
    told = json.loads(path.read_text())
    told["tokenizer"]["end"] = 257
    path.write_text(json.dumps(told))
    problems = verify_store(path.parent).problems
    assert {p.reason for p in problems} == {"bad-document"}
    assert "must end a document with 257" in str(problems[0])


def test_files_larger_than_a_step(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_file, "read_rows", partial(read_rows, num_elements=50))
    assert verify_store(store.folder).ok
    path = sorted(store.folder.glob("tokens-*"))[0]
    places = read_header(path).places["ids"].shape[0]
    forge(store, path, set_at("ids", places - 1, 300))
    (problem,) = verify_store(store.folder).problems
    assert f"token {places - 1:,} is 300 of 259 ids" in str(problem)


def test_counts_that_do_not_fit(store: TokenStore) -> None:
    path = store.folder / "store.json"
    told = json.loads(path.read_text())
    for counted in (told["domains"][0], told["domains"][0]["shards"][0]):
        counted["tokens"] += 1
    path.write_text(json.dumps(told))
    assert "bad-header" in reasons(store)


def test_shards_of_another_domain(store: TokenStore) -> None:
    path = store.folder / "store.json"
    path.write_text(path.read_text().replace('"Pile-CC"', '"Pile-CD"'))
    problems = verify_store(store.folder).problems
    assert {p.reason for p in problems} == {"bad-header"}
    assert "expected documents of 'Pile-CD' only" in str(problems[0])
