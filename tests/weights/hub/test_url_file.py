from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.errors import FetchFailed, NotFound
from barrow.weights import cached, fetch, where
from barrow.weights.hub.url_file import place_of, sum_in

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


def test_wrong_bytes(hub: Any, url: str, tmp_path: Path) -> None:
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
