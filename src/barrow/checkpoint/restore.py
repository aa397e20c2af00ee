"""From a checkpoint to devices: any number of them, in any layout, a slice at a time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
from jax.sharding import SingleDeviceSharding

from barrow.ahead import Ahead
from barrow.checkpoint.leaves import Kind, as_used, kind_of, leaves, rebuilt
from barrow.checkpoint.read import Checkpoint
from barrow.errors import CheckpointError
from barrow.files.dtypes import dtype_of
from barrow.parallel.offload import Kept, Outside
from barrow.weights.place import place_blocks

_SHOWN = 10


def restore(checkpoint: Checkpoint, like: Any, *, prefix: str = "", shardings: Any = None) -> Any:
    """The tree shaped as `like`, from the leaves under a prefix; checksums are verified.

    `like` is a tree of arrays or of their shapes. Leaves are placed by `shardings`, a tree shaped
    as `like`, or else as those of `like`. The host holds one slice at a time.
    """
    wanted = leaves(like)
    refuse_mismatch(checkpoint, {prefix + path: kind_of(x) for path, x in wanted.items()}, prefix)
    layouts = {path: _layout_of(leaf) for path, leaf in wanted.items()}
    if shardings is not None:
        layouts = dict(zip(wanted, jax.tree.leaves(shardings), strict=True))
    # Hashing takes as long as reading; side by side they take half, and damage is raised anyway.
    with Ahead(checkpoint.verify, threads=1) as verified:
        verified.put([prefix + path for path in wanted])
        found = {path: placed(checkpoint, prefix + path, layouts[path]) for path in wanted}
        next(verified)
    return rebuilt(like, found)


def placed(
    checkpoint: Checkpoint,
    path: str,
    sharding: Any,
    *,
    dtype: Any = None,
    layer: int | None = None,
) -> Any:
    """One leaf, or [1, …] of a layer, on the devices of a sharding; None is the default device."""
    kind = checkpoint.index.leaves[path].kind
    if isinstance(sharding, Outside):
        kept = Kept(sharding, kind.shape, dtype_of(kind.dtype))
        for part in range(kept.num_parts):
            one = placed(checkpoint, path, kept.sharding, layer=part if kept.is_layered else None)
            kept.store(part, one)
            kept.wait(part)
        return kept
    if layer is not None:
        one = slice(layer, layer + 1)
        return place_blocks(
            lambda block: checkpoint.block(path, (one, *block[1:])),
            (1, *kind.shape[1:]),
            sharding=sharding,
            dtype=dtype,
        )
    # Of a key the last dimension, its bits, is not divided: the sharding fits the bits as well.
    stored = place_blocks(
        partial(checkpoint.block, path), kind.shape, sharding=sharding, dtype=dtype
    )
    return as_used(stored, kind)


def refuse_mismatch(checkpoint: Checkpoint, wanted: Mapping[str, Kind], prefix: str = "") -> None:
    """Raise one error that lists all leaves that are missing, unexpected or of another kind."""
    there = {p: leaf.kind for p, leaf in checkpoint.index.leaves.items() if p.startswith(prefix)}
    lines = [
        *_listed("missing", [path for path in wanted if path not in there]),
        *_listed("unexpected", [path for path in there if path not in wanted]),
        *_listed(
            "mismatched",
            [
                f"{path}: expected {kind}, found {there[path]}"
                for path, kind in wanted.items()
                if path in there and not _fits(there[path], kind)
            ],
        ),
    ]
    if lines:
        raise CheckpointError(
            "the checkpoint does not match the model, optimizer or settings: "
            f"{len(wanted)} leaves expected, {len(there)} found\n" + "\n".join(lines),
            reason="mismatch",
            folder=checkpoint.folder,
        )


def _fits(found: Kind, expected: Kind) -> bool:
    # Shapes of keys do not tell their implementation, so JAX's name for the type does.
    return (found.dtype, found.shape, found.key_dtype) == (
        expected.dtype,
        expected.shape,
        expected.key_dtype,
    )


def _listed(kind: str, names: list[str]) -> list[str]:
    if not names:
        return []
    more = [f"  … and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return [f"{kind}: {len(names)}", *(f"  {name}" for name in names[:_SHOWN]), *more]


def _layout_of(leaf: Any) -> Any:
    """The sharding of a leaf; None on the default device, where arrays need not be bound to it."""
    sharding = getattr(leaf, "sharding", None)
    if isinstance(sharding, SingleDeviceSharding):
        (device,) = sharding.device_set
        return None if device == jax.local_devices()[0] else sharding
    return sharding
