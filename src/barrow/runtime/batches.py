"""Batches of a script's loader, on the devices."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding

from barrow.launch import World
from barrow.parallel import num_row_shards, rows_sharding, watch, whole
from barrow.parallel.processes import open_peers
from barrow.runtime.gradient import num_rows
from barrow.runtime.parts import on_host


def place_batch(batch: Any, mesh: Mesh, world: World, rows: str) -> Any:
    """See `Runtime.batch`."""
    leaves, devices = jax.tree.leaves(batch), set(mesh.devices.flat)
    if all(isinstance(x, jax.Array) and x.sharding.device_set == devices for x in leaves):
        return batch
    host, shards, divided = on_host(batch), num_row_shards(mesh), rows_sharding(mesh)
    num = num_rows(host)
    if rows == "process" and world.num > 1:
        if num is None or num * world.num % shards:
            raise ValueError(
                f"each process must give a multiple of {shards // world.num} rows, got "
                f'{num}: drop the last batch, or pass rows="global"'
            )
        return jax.tree.map(lambda x: jax.make_array_from_process_local_data(divided, x), host)

    def place(x: Any) -> Any:
        if isinstance(x, str):
            return x
        is_even = x.ndim > 0 and x.shape[0] % shards == 0
        return global_array(x, divided if is_even else whole(mesh))

    return jax.tree.map(place, host)


@dataclass(frozen=True)
class Batches:
    """Batches of a loader, placed; the first is compared between processes."""

    loader: Iterable[Any]
    mesh: Mesh
    world: World
    rows: str

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        words = "first batch; seed what shuffles it: Runtime(seed=…), or pass rows='process'"
        with watch.busy("loading"):  # between batches
            for number, batch in enumerate(self.loader):
                if number == 0 and self.rows == "global":
                    leaves = jax.tree.leaves(on_host(batch))
                    sums = [zlib.crc32(x.tobytes()) for x in leaves if not isinstance(x, str)]
                    open_peers("runtime/batch").agree("rows", {words: sums})
                with watch.call("batch", step=number):  # what is done with it needs the others
                    yield place_batch(batch, self.mesh, self.world, self.rows)


def global_array(x: Any, where: NamedSharding) -> jax.Array:
    """An array of all processes, of which each has the whole."""
    return jax.make_array_from_callback(x.shape, where, lambda index: x[index])
