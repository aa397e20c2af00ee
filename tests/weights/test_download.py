"""Downloads that are cut, changed, too long, wrong: on a loopback server."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from barrow.errors import FetchFailed, WriteFailed
from barrow.weights import FetchSettings
from barrow.weights.download import download, sha256_of

DATA = bytes(range(256)) * 40
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def target(web: Any, tmp_path: Path) -> Path:
    web.files["/x"], web.tags["/x"] = DATA, '"v1"'
    return tmp_path / "folder" / "x.bin"


def ranges(web: Any) -> list[str | None]:
    return [headers.get("Range") for _, headers in web.requests]


def test_a_file(web: Any, target: Path, fetching: FetchSettings) -> None:
    came: list[int] = []
    got = download(
        f"{web.url}/x", target, settings=fetching, sha256=DIGEST.upper(), on_bytes=came.append
    )
    assert target.read_bytes() == DATA
    assert (got.path, got.num_bytes, got.sha256) == (target, len(DATA), DIGEST)
    assert sum(came) == len(DATA)
    assert sha256_of(target) == DIGEST
    assert [p.name for p in target.parent.iterdir()] == ["x.bin"]


def test_a_connection_that_is_cut_again_and_again(
    web: Any, target: Path, fetching: FetchSettings
) -> None:
    web.cut_after = 1000  # ten cuts, more than attempts; but each brings something
    download(f"{web.url}/x", target, settings=fetching)
    assert target.read_bytes() == DATA
    assert ranges(web)[:3] == [None, "bytes=1000-", "bytes=2000-"]


def test_a_later_run_goes_on(web: Any, target: Path, fetching: FetchSettings) -> None:
    web.cut_after = 3000
    with pytest.raises(FetchFailed, match=r"3,000 bytes are kept in .*x.bin.part: run again"):
        download(f"{web.url}/x", target, settings=replace(fetching, attempts=1))
    assert not target.exists()
    web.cut_after = None
    download(f"{web.url}/x", target, settings=fetching)
    assert target.read_bytes() == DATA
    assert ranges(web) == [None, "bytes=3000-"]


def test_a_file_that_changed_between_attempts(
    web: Any, target: Path, fetching: FetchSettings
) -> None:
    web.cut_after = 3000
    with pytest.raises(FetchFailed):
        download(f"{web.url}/x", target, settings=replace(fetching, attempts=1))
    web.cut_after = None
    web.files["/x"], web.tags["/x"] = DATA[::-1], '"v2"'
    for honest in (True, False):  # a server that sends the rest all the same is found out
        shutil.copytree(target.parent, target.parent.parent / str(honest))
        web.honours_if_range = honest
        there = target.parent.parent / str(honest) / "x.bin"
        download(f"{web.url}/x", there, settings=fetching)
        assert there.read_bytes() == DATA[::-1]


def test_without_a_validator_it_begins_anew(
    web: Any, target: Path, fetching: FetchSettings
) -> None:
    web.tags.clear()
    web.cut_after = 3000
    with pytest.raises(FetchFailed):
        download(f"{web.url}/x", target, settings=replace(fetching, attempts=1))
    web.cut_after = None
    download(f"{web.url}/x", target, settings=fetching)
    assert target.read_bytes() == DATA
    assert ranges(web) == [None, None]


def test_a_server_that_knows_no_ranges(web: Any, target: Path, fetching: FetchSettings) -> None:
    web.ranges = False
    web.cut_after = 3000
    with pytest.raises(FetchFailed):
        download(f"{web.url}/x", target, settings=replace(fetching, attempts=1))
    web.cut_after = None
    download(f"{web.url}/x", target, settings=fetching)
    assert target.read_bytes() == DATA


def test_parts_that_are_not_of_this_file(web: Any, target: Path, fetching: FetchSettings) -> None:
    target.parent.mkdir()
    part, note = target.with_name("x.bin.part"), target.with_name("x.bin.part.json")
    for text in ("", "[]", "{", json.dumps({"url": "http://other/x", "validator": '"v1"'})):
        part.write_bytes(b"something else")
        note.write_text(text)
        download(f"{web.url}/x", target, settings=fetching)
        assert target.read_bytes() == DATA
    # Longer than the file: the server refuses the range, and it begins anew.
    part.write_bytes(b"z" * (len(DATA) + 5))
    note.write_text(json.dumps({"url": f"{web.url}/x", "validator": '"v1"'}))
    download(f"{web.url}/x", target, settings=fetching)
    assert target.read_bytes() == DATA


def test_the_wrong_digest(web: Any, target: Path, fetching: FetchSettings) -> None:
    with pytest.raises(
        FetchFailed, match=f"expected sha256 {'0' * 64} .named by you., got {DIGEST}"
    ):
        download(f"{web.url}/x", target, settings=fetching, sha256="0" * 64)
    assert list(target.parent.iterdir()) == []
    web.headers["/x"] = {"X-Linked-ETag": f'"{"1" * 64}"'}
    with pytest.raises(FetchFailed, match=f"expected sha256 {'1' * 64} .named by the hub."):
        download(f"{web.url}/x", target, settings=fetching)
    web.headers["/x"] = {"X-Linked-ETag": f'"{DIGEST}"'}
    assert download(f"{web.url}/x", target, settings=fetching).sha256 == DIGEST


def test_trouble_that_passes(web: Any, target: Path, fetching: FetchSettings) -> None:
    web.status["/x"] = [503, 500, 429]
    download(f"{web.url}/x", target, settings=fetching)
    assert target.read_bytes() == DATA


def test_trouble_keeps_what_came(web: Any, target: Path, fetching: FetchSettings) -> None:
    web.cut_after = 3000
    with pytest.raises(FetchFailed):
        download(f"{web.url}/x", target, settings=replace(fetching, attempts=1))
    web.cut_after = None
    web.status["/x"] = [503, 503]
    download(f"{web.url}/x", target, settings=fetching)
    assert ranges(web)[1:] == ["bytes=3000-"] * 3


def test_trouble_that_does_not(web: Any, target: Path, fetching: FetchSettings) -> None:
    web.status["/x"] = [503] * 100
    with pytest.raises(FetchFailed, match="HTTP 503 .*; tried 5 times"):
        download(f"{web.url}/x", target, settings=fetching)
    assert len(web.requests) == 5


def test_pauses_grow(
    web: Any, target: Path, fetching: FetchSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("barrow.weights.download.time.sleep", pauses.append)
    web.status["/x"] = [503] * 3
    download(f"{web.url}/x", target, settings=replace(fetching, pause=2))
    assert pauses == [2, 4, 8]


def test_a_disk_that_is_too_small(
    web: Any, target: Path, fetching: FetchSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 100})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(WriteFailed, match="needs 10,240 bytes more, 100 are free"):
        download(f"{web.url}/x", target, settings=fetching)


def test_a_file_of_no_bytes(web: Any, target: Path, fetching: FetchSettings) -> None:
    web.files["/x"] = b""
    assert download(f"{web.url}/x", target, settings=fetching).num_bytes == 0
    assert target.read_bytes() == b""
