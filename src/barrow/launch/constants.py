"""What a device does in a second: measured once, and stored for those who plan."""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from barrow import config
from barrow.files import write_bytes
from barrow.weights.hub.cache import cache_folder

_SECONDS = 0.05  # that one timing takes at least; the best of `_TIMES` counts
_TIMES = 3


@dataclass(frozen=True)
class Link:
    """Sums over groups of so many `devices`, all groups at once.

    `latency`: seconds of a sum of nothing; `bandwidth`: bytes per second that each device sends,
    counted as in a ring: 2(n − 1)/n of an array for its sum.
    """

    devices: int
    latency: float
    bandwidth: float


@dataclass(frozen=True)
class Constants:
    """What each device does per second while all `devices` of the process are busy.

    Virtual devices of a CPU share its cores, so that each does less the more there are. `flops`: of
    a large matrix product by dtype, as JAX computes it by default (float32 on NVIDIA's GPUs is
    TF32). Bytes: `memory_bandwidth`, read and written by an update as Adam's; `host_bandwidth`, to
    and from pinned memory of the host, the mean of both directions. `links`: between the devices,
    by size of the group. `dispatch`: seconds to start a program.
    """

    device: str
    flops: dict[str, float]
    memory_bandwidth: float
    host_bandwidth: float
    dispatch: float
    links: tuple[Link, ...] = ()
    devices: int = 1

    def link(self, num: int) -> Link:
        """Of groups of so many devices: the nearest that was measured."""
        if not self.links:
            return Link(num, 0.0, self.memory_bandwidth)
        return min(self.links, key=lambda one: abs(one.devices - num))


def measure(*, width: int | None = None, num_bytes: int | None = None) -> Constants:
    """Measure all devices of this process at once, and the links between them.

    `width` is of the matrices and `num_bytes` of the buffers; by default the platform decides.
    """
    import jax
    import jax.numpy as jnp

    devices = jax.local_devices()
    num, is_cpu = len(devices), devices[0].platform == "cpu"
    width = width or (1024 if is_cpu else 8192)
    num_bytes = num_bytes or (1 << 28 if is_cpu else 1 << 30)
    if is_cpu:
        num_bytes //= num  # of one memory
    flops = {}
    apiece = _groups(num, 1)
    each = functools.partial(jnp.zeros, device=apiece)
    for dtype in ("float32", "bfloat16"):
        x = jax.random.normal(jax.random.key(0), (num, width, width)).astype(dtype)
        scaled = jax.device_put(x * width**-0.5, apiece)  # products keep their size
        product: Any = jax.jit(jnp.matmul, out_shardings=apiece)
        run = functools.partial(lambda x, b, product=product: product(x, b), b=scaled)
        flops[dtype] = 2 * width**3 / _seconds(run, jax.device_put(x, apiece))
    update: Any = jax.jit(_update, donate_argnums=0)
    memory = _seconds(update, tuple(each((num, num_bytes // 16)) for _ in range(4)))
    more: Any = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.zeros(num_bytes // 16, device=devices[0])
    here, host = x.sharding, x.sharding.with_memory_kind("pinned_host")  # as what is offloaded
    both = _seconds(lambda x: jax.device_put(jax.device_put(x, host), here), x)
    return Constants(
        device=devices[0].device_kind,
        flops=flops,
        memory_bandwidth=7 / 4 * num_bytes / memory,
        host_bandwidth=2 * x.nbytes / both,
        dispatch=_seconds(more, jnp.zeros(())),
        links=tuple(_link(n, num_bytes // 4) for n in range(2, num + 1) if num % n == 0),
        devices=num,
    )


def _update(arrays: Any) -> Any:
    """As Adam's: four arrays are read and three written."""
    params, gradients, mean, square = arrays
    mean, square = 0.9 * mean + 0.1 * gradients, 0.99 * square + 0.01 * gradients**2
    return params - 1e-3 * mean / (square**0.5 + 1e-8), gradients, mean, square


def _groups(num: int, size: int) -> Any:
    """The sharding of an array with a row for each device, in groups of so many."""
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.local_devices()).reshape(num // size, size), ("groups", "devices"))
    spec: Any = PartitionSpec
    return NamedSharding(mesh, spec(("groups", "devices")))


def _link(size: int, num_bytes: int) -> Link:
    import jax
    import jax.numpy as jnp

    num = len(jax.local_devices())
    rows = _groups(num, size)

    def mean(x: Any) -> Any:
        """Each device has a row, and all of a group get the mean of theirs."""
        grouped = x.reshape(num // size, size, -1)
        return jnp.broadcast_to(grouped.mean(1, keepdims=True), grouped.shape).reshape(x.shape)

    summed: Any = jax.jit(mean, out_shardings=rows)

    def took(length: int) -> float:
        # One at a time: on CPUs several at once may wait for each other's threads without end.
        each = jnp.zeros((num, length), device=rows)
        return _seconds(lambda x: summed(x).block_until_ready(), each)

    latency, whole = took(1), took(num_bytes // 4)
    sent = 2 * (size - 1) / size * num_bytes
    return Link(size, latency, sent / max(whole - latency, whole / 10))


def _seconds(run: Callable[[Any], Any], value: Any) -> float:
    """Of `value = run(value)`: many are started, and the last is waited for."""
    import jax

    wait: Any = jax.block_until_ready
    value = wait(run(value))
    num, times = 1, list[float]()
    while len(times) < _TIMES:
        began = time.perf_counter()
        for _ in range(num):
            value = run(value)
        wait(value)
        took = time.perf_counter() - began
        if took < _SECONDS:
            num *= 2
        else:
            times.append(took / num)
    return min(times)


def store(constants: Constants) -> Path:
    """Keep them for such devices and this version of JAX, in the folder of caches."""
    path = _path(constants.device, constants.devices)
    write_bytes(path, config.to_json(constants).encode())
    return path


def stored(device_kind: str, devices: int = 1) -> Constants | None:
    """What was stored for such devices and this version of JAX."""
    path = _path(device_kind, devices)
    return config.from_json(Constants, path.read_text(), where=path) if path.exists() else None


def _path(device_kind: str, devices: int) -> Path:
    from importlib.metadata import version

    # Accelerators are as fast alone; what virtual devices of a CPU do depends on their number.
    kind = f"{device_kind}-{devices}" if device_kind == "cpu" and devices > 1 else device_kind
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{kind}-jax-{version('jax')}")
    return cache_folder(os.environ) / "constants" / f"{name}.json"
