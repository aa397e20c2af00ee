"""Memory, utilisation, temperature and power of the devices, and memory of the process.

What the hardware or the system does not report is left out. Nothing here ends a run.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Readings = dict[str, float | int]

_STATUS = Path("/proc/self/status")
_HOST = {"VmRSS": "host_memory", "VmHWM": "host_memory_peak"}
_DEVICE = {"bytes_in_use": "memory", "peak_bytes_in_use": "memory_peak"}
# A reading of all devices costs about a millisecond: one that is younger is used again.
_RECENT = 1.0


class Monitor:
    """Reads devices of this process, by their number here: ``device0_memory``, ``device0_power``.

    - `host_memory`, `device0_memory`: bytes in use; with `_peak`, the most since the start, by the
      figures of the system and of the runtime.
    - `device0_utilisation`: share of the last moments in which a kernel ran.
    - `device0_temperature`: °C; `device0_power`: watts. Of NVIDIA's devices, with `nvidia-ml-py`.
    """

    def __init__(
        self, devices: Sequence[Any], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._last: tuple[float, Readings] | None = None
        self._sources: dict[str, Callable[[], Readings]] = {"the process": _of_process}
        self._sources["the runtime"] = lambda: _of_runtime(devices)
        handles = _handles(devices)
        if handles:
            self._sources["NVML"] = lambda: _of_nvml(handles)

    def read(self) -> Readings:
        """What is known now; a source that fails is switched off with a warning."""
        now = self._clock()
        if self._last is not None and now - self._last[0] < _RECENT:
            return self._last[1]
        found: Readings = {}
        for name, source in list(self._sources.items()):
            try:
                found |= source()
            except Exception as error:  # noqa: BLE001 - a reading must not end a run
                del self._sources[name]
                warnings.warn(f"monitor: {name} is not read any more: {error}", stacklevel=2)
        self._last = now, found
        return found


def _of_process() -> Readings:
    if not _STATUS.exists():  # not Linux
        return {}
    lines = (line.partition(":") for line in _STATUS.read_text().splitlines())
    return {_HOST[key]: int(value.split()[0]) << 10 for key, _, value in lines if key in _HOST}


def _of_runtime(devices: Sequence[Any]) -> Readings:
    return {
        f"device{number}_{name}": stats[key]
        for number, device in enumerate(devices)
        for stats in (device.memory_stats() or {},)
        for key, name in _DEVICE.items()
        if key in stats
    }


def _handles(devices: Sequence[Any]) -> list[Any]:
    """Of NVML, for each device; none where NVML is not there."""
    if not devices or devices[0].platform not in ("gpu", "cuda"):
        return []
    try:
        import pynvml

        pynvml.nvmlInit()
        return [_handle(pynvml, device.local_hardware_id or 0) for device in devices]
    except Exception:  # noqa: BLE001 - no library, no driver, a device that is hidden from NVML
        return []


def _handle(pynvml: Any, number: int) -> Any:
    """NVML counts all devices of the machine, a process those it may see."""
    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    name = visible[number] if visible else str(number)
    if name.isdigit():
        return pynvml.nvmlDeviceGetHandleByIndex(int(name))
    return pynvml.nvmlDeviceGetHandleByUUID(name)


def _of_nvml(handles: Sequence[Any]) -> Readings:
    import pynvml

    found: Readings = {}
    for number, handle in enumerate(handles):
        asked: dict[str, Callable[[Any], float]] = {
            "utilisation": lambda h: pynvml.nvmlDeviceGetUtilizationRates(h).gpu / 100,
            "temperature": lambda h: pynvml.nvmlDeviceGetTemperature(
                h, pynvml.NVML_TEMPERATURE_GPU
            ),
            "power": lambda h: pynvml.nvmlDeviceGetPowerUsage(h) / 1000,
        }
        for name, ask in asked.items():
            try:
                found[f"device{number}_{name}"] = ask(handle)
            except pynvml.NVMLError_NotSupported:
                continue
    return found
