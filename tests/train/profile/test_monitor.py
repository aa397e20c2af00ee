"""Memory, temperature and power in the log (ACCELERATE-7)."""

from __future__ import annotations

import resource
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from barrow.train.profile.monitor import Monitor


class Device:
    """A GPU that reports its memory."""

    platform = "gpu"

    def __init__(self, number: int = 0, **stats: int) -> None:
        self.local_hardware_id = number
        self.stats: dict[str, int] | None = stats

    def memory_stats(self) -> dict[str, int] | None:
        return self.stats


class Nvml:
    """NVML of a machine with four devices; the last one's power is not known."""

    NVML_TEMPERATURE_GPU = 0

    class NVMLError_NotSupported(Exception):  # noqa: N801
        pass

    def nvmlInit(self) -> None: ...  # noqa: N802

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetHandleByUUID(self, name: str) -> int:  # noqa: N802
        return {"GPU-b": 1}[name]

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:  # noqa: N802
        return SimpleNamespace(gpu=10 * handle)

    def nvmlDeviceGetTemperature(self, handle: int, _: int) -> int:  # noqa: N802
        return 60 + handle

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:  # noqa: N802
        if handle == 3:
            raise self.NVMLError_NotSupported
        return 300_000 + handle


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    made = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", made)  # type: ignore[arg-type]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return made


def test_memory_of_the_process_is_that_of_the_system() -> None:
    """Within 5 % of the highest RSS by getrusage, after a peak that is over."""
    used = np.ones(32 << 20, np.uint8)
    used.sum()
    del used
    found = Monitor([]).read()
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    assert found["host_memory_peak"] == pytest.approx(highest, rel=0.05)
    assert found["host_memory_peak"] >= found["host_memory"] > 32 << 20
    assert set(found) == {"host_memory", "host_memory_peak"}


def test_devices_by_runtime_and_nvml(nvml: Nvml) -> None:
    devices = [Device(0, bytes_in_use=5, peak_bytes_in_use=7), Device(3)]
    found = Monitor(devices).read()
    assert (found["device0_memory"], found["device0_memory_peak"]) == (5, 7)
    assert "device1_memory" not in found
    assert [found[f"device{k}_temperature"] for k in (0, 1)] == [60, 63]
    assert [found[f"device{k}_utilisation"] for k in (0, 1)] == [0.0, 0.3]
    assert found["device0_power"] == 300
    assert "device1_power" not in found


@pytest.mark.parametrize("visible", ["2,1", "GPU-x,GPU-b"])
def test_only_some_devices_are_visible(
    nvml: Nvml, monkeypatch: pytest.MonkeyPatch, visible: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert Monitor([Device(1)]).read()["device0_temperature"] == 61


@pytest.mark.parametrize("absent", ["library", "driver", "GPU of NVIDIA"])
def test_without_nvml(nvml: Nvml, monkeypatch: pytest.MonkeyPatch, absent: str) -> None:
    device = Device(0, bytes_in_use=5)

    def fail() -> None:
        raise RuntimeError("driver not loaded")

    if absent == "library":
        monkeypatch.setitem(sys.modules, "pynvml", None)
    elif absent == "driver":
        monkeypatch.setattr(nvml, "nvmlInit", fail)
    else:
        device.platform = "tpu"
    found = Monitor([device]).read()
    assert found["device0_memory"] == 5
    assert not [key for key in found if key.endswith(("power", "temperature", "utilisation"))]


def test_a_source_that_fails_is_switched_off(nvml: Nvml, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 0.5, 5.0, 10.0])
    device = Device(0, bytes_in_use=5)
    monitor = Monitor([device], clock=lambda: next(times))
    before = monitor.read()

    def fail(_: Any) -> Any:
        raise RuntimeError("GPU is lost")

    monkeypatch.setattr(nvml, "nvmlDeviceGetUtilizationRates", fail)
    device.stats = {"bytes_in_use": 6}
    assert monitor.read() == before  # half a second later
    with pytest.warns(UserWarning, match="NVML is not read any more: GPU is lost"):
        after = monitor.read()
    assert after["device0_memory"] == 6
    assert "device0_power" not in after
    assert "device0_power" not in monitor.read()  # and no second warning
