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
class Constants:
    """What one device does per second, and the seconds of a `dispatch`: to start a program.

    `flops`: of a large matrix product by dtype, as JAX computes it by default (float32 on NVIDIA's
    GPUs is TF32). Bytes: `memory_bandwidth`, read and written; `host_bandwidth`, to and from
    pinned memory of the host, the mean of both directions; `link_bandwidth`, what each device sends
    in a ring all-reduce over the devices of this process, None if it has one.
    """

    device: str
    flops: dict[str, float]
    memory_bandwidth: float
    host_bandwidth: float
    link_bandwidth: float | None
    dispatch: float


def measure(*, width: int | None = None, num_bytes: int | None = None) -> Constants:
    """Measure the first device of this process, and the links between all of its devices.

    `width` is of the matrices and `num_bytes` of the buffers; by default the platform decides.
    """
    import jax
    import jax.numpy as jnp

    devices = jax.local_devices()
    is_cpu = devices[0].platform == "cpu"
    width = width or (1024 if is_cpu else 8192)
    num_bytes = num_bytes or (1 << 26 if is_cpu else 1 << 30)
    flops = {}
    for dtype in ("float32", "bfloat16"):
        x = jax.random.normal(jax.random.key(0), (width, width)).astype(dtype)
        scaled = (x * width**-0.5).astype(dtype)  # products keep their size
        product = functools.partial(jax.jit(jnp.matmul), b=scaled)
        flops[dtype] = 2 * width**3 / _seconds(product, x)
    more: Any = jax.jit(lambda x: x + 1, donate_argnums=0)
    memory = _seconds(more, jnp.zeros(num_bytes // 4))
    x = jnp.zeros(num_bytes // 16, device=devices[0])
    here, host = x.sharding, x.sharding.with_memory_kind("pinned_host")  # as what is offloaded
    both = _seconds(lambda x: jax.device_put(jax.device_put(x, host), here), x)
    return Constants(
        device=devices[0].device_kind,
        flops=flops,
        memory_bandwidth=2 * num_bytes / memory,
        host_bandwidth=2 * x.nbytes / both,
        link_bandwidth=_link_bandwidth(num_bytes // 4) if len(devices) > 1 else None,
        dispatch=_seconds(more, jnp.zeros(())),
    )


def _link_bandwidth(num_bytes: int) -> float:
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    num = len(jax.local_devices())
    mesh = Mesh(np.array(jax.local_devices()), ("all",))
    spec: Any = PartitionSpec
    rows = NamedSharding(mesh, spec("all"))
    # Each device has a row, and all get the mean of them.
    mean: Any = jax.jit(lambda x: jnp.broadcast_to(x.mean(0), x.shape), out_shardings=rows)
    each = jnp.zeros((num, num_bytes // 4), device=rows)
    # One at a time: on CPUs several at once may wait for each other's threads without end.
    took = _seconds(lambda x: mean(x).block_until_ready(), each)
    return 2 * (num - 1) / num * num_bytes / took


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
    """Keep them for this kind of device and this version of JAX, in the folder of caches."""
    path = _path(constants.device)
    write_bytes(path, config.to_json(constants).encode())
    return path


def stored(device_kind: str) -> Constants | None:
    """What was stored for such a device and this version of JAX."""
    path = _path(device_kind)
    return config.from_json(Constants, path.read_text(), where=path) if path.exists() else None


def _path(device_kind: str) -> Path:
    from importlib.metadata import version

    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{device_kind}-jax-{version('jax')}")
    return cache_folder(os.environ) / "constants" / f"{name}.json"
