"""What a device does in a second, measured and stored (ACCELERATE-13)."""

from __future__ import annotations

import math
from pathlib import Path

import jax
import numpy as np
import pytest

from barrow.launch import constants


def test_measured_and_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "_SECONDS", 1e-4)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BARROW_CACHE", raising=False)
    found = constants.measure(width=32, num_bytes=1 << 12)
    assert (found.device, set(found.flops)) == ("cpu", {"float32", "bfloat16"})
    assert found.devices == 8  # of the tests, virtual
    assert [one.devices for one in found.links] == [2, 4, 8]
    rates = [*found.flops.values(), found.memory_bandwidth, found.host_bandwidth]
    links = [rate for one in found.links for rate in (one.latency, one.bandwidth)]
    for rate in (*rates, *links, found.dispatch):
        assert rate > 0
        assert math.isfinite(rate)
    assert constants.stored("cpu", 8) is None
    path = constants.store(found)
    assert path == tmp_path / "barrow" / "constants" / f"cpu-8-jax-{jax.__version__}.json"
    assert constants.stored("cpu", 8) == found
    assert constants.stored("cpu") is None  # one device has all cores
    assert constants.stored("NVIDIA H200") is None


def test_the_nearest_group_counts() -> None:
    links = tuple(constants.Link(n, n * 1e-5, 1e9) for n in (2, 4, 8))
    found = constants.Constants("test", {}, 1e9, 1e9, 1e-5, links)
    assert [found.link(n).devices for n in (2, 4, 7, 64)] == [2, 4, 8, 8]
    assert constants.Constants("test", {}, 3e9, 1e9, 1e-5).link(2).bandwidth == 3e9


def test_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one call, by a clock that each call moves by 2 ms, and every second timing by 1 s more."""
    now = [0.0]
    calls = [0]
    monkeypatch.setattr(constants.time, "perf_counter", lambda: now[0])

    def run(value: np.ndarray) -> np.ndarray:
        calls[0] += 1
        now[0] += 0.002 + (calls[0] == 2)
        return value

    assert constants._seconds(run, np.zeros(1)) == pytest.approx(0.002)
