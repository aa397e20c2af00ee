"""Arrays kept outside the devices, in the host's memory or in a file, and fetched in parts.

A part is one layer where the first dimension is the layers, else the whole array.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from barrow.errors import ConfigError

Offload = Literal["none", "host", "disk"]
_HOST = "pinned_host"


@dataclass(frozen=True)
class Outside:
    """Where an array is kept: in the host's memory, or in a file of `folder`.

    `sharding` is that of the whole array on the devices. Each process keeps the parts of its own.
    `used` is the type of a copy that is on the devices all the time, if there is one.
    """

    sharding: NamedSharding
    is_layered: bool
    folder: Path | None = None
    used: Any = None


class Kept:
    """An array outside the devices, empty until all parts are stored. It changes in place.

    `used` is its copy on the devices, rounded to their type, or None.
    """

    def __init__(self, where: Outside, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        spec = where.sharding.spec
        # Layers that are themselves divided over devices are fetched together.
        is_layered = where.is_layered and (not len(spec) or spec[0] is None)
        self.num_parts = shape[0] if is_layered else 1
        self.is_layered = is_layered
        self.part_shape = (1, *shape[1:]) if is_layered else shape
        self.sharding = where.sharding
        self._parts: list[Any] = [None] * self.num_parts
        self.used: jax.Array | None = None
        if where.used is not None:
            zeros = partial(jnp.zeros, shape, where.used)
            self.used = jax.jit(zeros, out_shardings=where.sharding)()
        self._file: Any = None
        if where.folder is not None:
            with tempfile.TemporaryFile(dir=where.folder) as file:  # gone with the process
                self._file = np.memmap(file, self.dtype, "w+", shape=shape)

    def fetch(self, number: int) -> jax.Array:
        """A part on the devices; it arrives while the caller continues."""
        if self._file is None:
            part: jax.Array = jax.device_put(self._parts[number], self.sharding)
            return part
        # A copy: a CPU would use the mapped memory itself.
        held = self._held(number)
        return jax.make_array_from_callback(
            self.part_shape, self.sharding, lambda index: np.array(held[index])
        )

    def store(self, number: int, part: jax.Array) -> None:
        """Keep a part; into memory it is copied while the caller continues (see `wait`)."""
        if self.used is not None:
            self.used = _rounded_into(self.used, part, number)
        if self._file is None:
            self._parts[number] = jax.device_put(part, self.sharding.with_memory_kind(_HOST))
            return
        held = self._held(number)
        for shard in part.addressable_shards:
            held[shard.index] = np.asarray(shard.data)

    def wait(self, number: int) -> None:
        """Return when a part is stored."""
        if self._file is None:
            self._parts[number].block_until_ready()

    def owned(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Blocks of which this process has the first of all copies, and where each starts."""
        first: dict[tuple[int, ...], tuple[Any, Any]] = {}
        for device, index in self.sharding.devices_indices_map(self.part_shape).items():
            start = tuple(part.start or 0 for part in index)
            first.setdefault(start, (device, index))
        mine = [one for one in first.items() if one[1][0].process_index == jax.process_index()]
        for number in range(self.num_parts):
            for start, (device, index) in mine:
                at = (number, *start[1:]) if self.is_layered else start
                if self._file is None:
                    shards = self._parts[number].addressable_shards
                    yield at, next(shard.data for shard in shards if shard.device == device)
                else:
                    yield at, self._held(number)[index]

    def _held(self, number: int) -> Any:
        return self._file[number : number + 1] if self.is_layered else self._file


@partial(jax.jit, donate_argnums=0)
def _rounded_into(used: jax.Array, part: jax.Array, number: int) -> jax.Array:
    return jax.lax.dynamic_update_slice_in_dim(used, part.astype(used.dtype), number, 0)


def in_use(tree: Any) -> Any:
    """A tree of parameters, where what is kept outside is its copy on the devices."""
    return jax.tree.map(lambda x: x.used if isinstance(x, Kept) else x, tree)


def refuse_without_memory(offload: Offload) -> None:
    """Raise where the devices cannot reach memory of the host."""
    device = jax.local_devices()[0]
    if offload == "host" and all(memory.kind != _HOST for memory in device.addressable_memories()):
        raise ConfigError(
            f"mesh.offload=host needs pinned host memory, which {device.platform} devices do not "
            "have here; use mesh.offload=disk"
        )
