"""What a run has here: who started it, versions, devices, links, what is missing; a self-test."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from barrow.errors import ConfigError, PeerFailed
from barrow.launch.constants import Constants, stored
from barrow.launch.world import World, detect, join

# What each extra gives.
EXTRAS = {
    "corpus": "building a corpus",
    "language": "filtering by language",
    "images": "decoding pictures",
    "clip": "CLIP",
    "onnx": "models as ONNX graphs",
    "parquet": "reading Parquet",
    "patterns": "filtering by patterns",
    "pdf": "reading PDF",
    "compressors": "compressors as baselines of scores",
    "web": "reading WARC files",
    "tokens": "tokenizers and token stores",
    "fast": "faster tokenizing",
    "train": "models and training",
    "chat": "chat templates",
    "schema": "answers that follow a JSON schema",
    "serve": "serving a model over HTTP",
    "tensorboard": "logging to TensorBoard",
    "wandb": "logging to Weights & Biases",
    "mlflow": "logging to MLflow",
    "ray": "building on a cluster",
    "gguf": "reading GGUF",
    "hub": "downloading models",
    "monitor": "utilisation, temperature and power of GPUs",
    "notebook": "functions in several processes",
    "torch": "reading weights of PyTorch",
    "transformers": "scoring models of Hugging Face",
    "tf": "batches for TensorFlow",
    "huggingface": "corpora as datasets",
}


@dataclass(frozen=True)
class Device:
    """A device of this process, and the bytes that JAX may use there; of a CPU, all of the host."""

    kind: str
    platform: str
    memory: int | None


@dataclass(frozen=True)
class Environment:
    """What was found. `missing` has the libraries of extras that are not installed, by extra."""

    world: World
    host: str
    versions: dict[str, str]
    devices: tuple[Device, ...]
    links: str
    missing: dict[str, tuple[str, ...]]
    constants: Constants | None


def describe() -> Environment:
    """Look around in this process; the others are not asked."""
    libraries = ("barrow", "jax", "jaxlib", "numpy", "jax-cuda13-plugin", "jax-cuda12-plugin")
    found = {"python": sys.version.split()[0]} | {name: _version(name) for name in libraries}
    versions = {name: version for name, version in found.items() if version is not None}
    driver = _nvidia_smi("--query-gpu=driver_version", "--format=csv,noheader").partition("\n")[0]
    devices = _devices() if "jax" in versions else ()
    return Environment(
        world=detect(),
        host=socket.gethostname(),
        versions=versions | ({"NVIDIA driver": driver} if driver else {}),
        devices=devices,
        links=_nvidia_smi("topo", "-m") or "not known",
        missing=_missing(),
        constants=stored(devices[0].kind, len(devices)) if devices else None,
    )


def self_test(*, limit: float) -> World:
    """Join the others, and add and gather a number of every device; the world, with all hosts.

    `ConfigError` names a process that does not come within `limit` seconds; one that comes, but
    does not reach a collective, is named by the watch. `PeerFailed` names a device whose number
    arrives wrong.
    """
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from barrow.parallel import watch

    world = join(timeout=max(1, int(limit)))
    watch.begin(watch.Limits(apart=limit))
    devices, spec = jax.devices(), PartitionSpec
    mesh: Any = Mesh(np.array(devices), ("all",))
    rows, whole = (NamedSharding(mesh, some) for some in (spec("all"), spec()))  # type: ignore[no-untyped-call]
    with watch.call("self-test"):
        sent = np.arange(1.0, len(devices) + 1, dtype=np.float32)
        array = jax.make_array_from_callback(sent.shape, rows, lambda at: sent[at])
        total: Any = jax.jit(lambda x: x.sum(), out_shardings=whole)(array)
        every: Any = jax.jit(lambda x: x * 1, out_shardings=whole)(array)
        _refuse_wrong(sent, np.asarray(every), float(total), [one.process_index for one in devices])
    return world


def _refuse_wrong(sent: Any, got: Any, total: float, processes: list[int]) -> None:
    wrong = [n for n in range(len(sent)) if got[n] != sent[n]]
    if wrong:
        named = ", ".join(f"device {n} of process {processes[n]}" for n in wrong[:8])
        raise PeerFailed(f"a gather over {len(sent)} devices got wrong numbers from {named}")
    if total != sent.sum():
        raise PeerFailed(f"a sum over {len(sent)} devices must be {sent.sum():g}, got {total:g}")


def _devices() -> tuple[Device, ...]:
    import jax

    try:
        found = jax.local_devices()
    except RuntimeError as error:  # a driver that does not work
        raise ConfigError(f"JAX found no devices: {error}") from None
    host = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    def memory(device: Any) -> int | None:
        limit: int | None = (device.memory_stats() or {}).get("bytes_limit")
        return host if device.platform == "cpu" else limit

    return tuple(Device(one.device_kind, one.platform, memory(one)) for one in found)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _missing() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    lines = importlib.metadata.requires("barrow") if _version("barrow") else None
    for line in lines or ():
        match = re.match(r"([\w.-]+).*extra == ['\"](\w+)['\"]", line)
        if match and match[2] in EXTRAS and match[1] != "barrow" and _version(match[1]) is None:
            found[match[2]] = (*found.get(match[2], ()), match[1])
    return found


def _nvidia_smi(*arguments: str) -> str:
    """What it prints; nothing where it is not there, or fails."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    done = subprocess.run(  # noqa: S603 - the driver's own program
        [program, *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).partition("\nLegend:")[0]
    return "" if done.returncode else plain.strip()
