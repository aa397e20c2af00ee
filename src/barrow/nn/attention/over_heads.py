"""A kernel for each head of each row: split over devices by rows and heads, and under vmap."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.experimental.custom_partitioning import custom_partitioning
from jax.experimental.xla_metadata import set_xla_metadata
from jax.sharding import Mesh, NamedSharding, PartitionSpec

Kernel = Callable[..., tuple[jax.Array, ...]]


def over_heads(kernel: Kernel) -> Kernel:
    """`kernel`, over arrays [batch, places, heads, dim] or [batch, …], made transformable by JAX.

    A kernel is opaque to the compiler, which would gather all arrays on every device. Batch and
    heads may be sharded, places and dim may not. A mapped dimension joins the batch.
    """

    @custom_vmap
    def call(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        # A sharded program identifies its kernel by an address, which may be another kernel's in
        # another process: this distinguishes programs cached on disk.
        contents = str(jax.make_jaxpr(kernel)(*arrays))
        with set_xla_metadata(kernel=hashlib.sha256(contents.encode()).hexdigest()):
            return _split(kernel, *arrays)(*arrays)  # type: ignore[no-any-return]

    @call.def_vmap
    def mapped(size: int, is_mapped: list[bool], *arrays: jax.Array) -> tuple[Any, Any]:
        whole = [
            x if there else jnp.broadcast_to(x, (size, *x.shape))
            for x, there in zip(arrays, is_mapped, strict=True)
        ]
        out = call(*(x.reshape(-1, *x.shape[2:]) for x in whole))
        return tuple(x.reshape(size, -1, *x.shape[1:]) for x in out), (True,) * len(out)

    return call


def _split(kernel: Kernel, *arrays: jax.Array) -> Any:
    def partition(mesh: Mesh, given: Any, out: Any) -> tuple[Any, ...]:
        spec = [*given[0].sharding.spec, *(None,) * 4]
        heads = PartitionSpec(spec[0], None, spec[2], None)

        def sharding(x: Any) -> NamedSharding:
            return NamedSharding(mesh, heads if len(x.shape) == 4 else PartitionSpec(spec[0]))

        return mesh, kernel, jax.tree.map(sharding, out), jax.tree.map(sharding, given)

    call = custom_partitioning(kernel)
    # Each array has its own positions: queries and keys may differ in number.
    names = [
        ["b", f"n{i}", "h", "d"] if x.ndim == 4 else ["b", *(f"n{i}_{j}" for j in range(1, x.ndim))]
        for i, x in enumerate(arrays)
    ]
    rows = [" ".join(each) for each in names]
    num_out = len(jax.eval_shape(kernel, *arrays))
    rule = f"{', '.join(rows)} -> {', '.join(rows[:num_out])}"
    # In the order of their first mention.
    whole = tuple(dict.fromkeys(name for each in names for name in each if name not in "bh"))
    call.def_partition(partition, sharding_rule=rule, need_replication_factors=whole)
    return call
