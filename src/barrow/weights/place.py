"""Arrays from the disk onto devices, a slice at a time: the host never holds a whole model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from barrow.errors import MissingExtra
from barrow.weights.mapped_file import release
from barrow.weights.tensors import Array

if TYPE_CHECKING:
    import jax

Block = tuple[slice, ...]
# The sharding of an array of these logical axes and this shape (`parallel.placing`).
Place = Callable[[tuple[str | None, ...], tuple[int, ...]], Any]
# Layers of a stack that are smaller than this go to the devices together; larger blocks in pieces.
_AT_ONCE = 32 << 20


def place(array: Array, *, sharding: Any = None, dtype: Any = None) -> jax.Array:
    """A JAX array of the elements of `array`, converted to `dtype` if one is given.

    With a `sharding`, each device is given its slice and nothing else is read: of a mapped file
    only the pages of this process's slices are touched. The result never shares memory with it.
    """
    return place_blocks(lambda block: array[block], array.shape, sharding=sharding, dtype=dtype)


def place_blocks(
    read: Callable[[Block], Array], shape: tuple[int, ...], *, sharding: Any, dtype: Any = None
) -> jax.Array:
    """The array of this shape whose blocks ``read(block)`` gives, one after another.

    Without a sharding it is on the default device, and not bound to it.
    """
    try:
        import jax
    except ImportError:
        raise MissingExtra("JAX", "train", "placing an array on a device") from None

    if sharding is None:
        whole = read(tuple(slice(None) for _ in shape))
        return _sent(whole, None, dtype)
    devices: dict[tuple[Any, ...], list[Any]] = {}
    blocks: dict[tuple[Any, ...], Block] = {}
    for device, block in sharding.addressable_devices_indices_map(shape).items():
        name = tuple((part.start, part.stop) for part in block)
        devices.setdefault(name, []).append(device)
        blocks[name] = block
    arrays = []
    for name, block in blocks.items():
        held = read(block)
        arrays += [_sent(held, device, dtype) for device in devices[name]]
        del held
    return jax.make_array_from_single_device_arrays(shape, sharding, arrays)


def place_layers(
    layers: Sequence[Callable[[], Array]], *, sharding: Any = None, dtype: Any = None
) -> jax.Array:
    """One array of all layers, each read when its turn comes; its first dimension is the layer.

    The host holds one layer, or a few small ones; the array grows on the devices.
    """
    import jax
    import jax.numpy as jnp

    first = layers[0]()
    shape, kind, size = first.shape, np.dtype(dtype or first.dtype), first.nbytes
    del first
    of_layer, is_divided = _within(sharding)
    at_once = 1 if is_divided else max(1, min(len(layers), _AT_ONCE // max(1, size)))

    def some(start: int) -> jax.Array:
        held = [read() for read in layers[start : start + at_once]]
        if at_once == 1:
            one = (1, *shape)
            return place_blocks(
                lambda of: held[0][of[1:]][None], one, sharding=of_layer, dtype=kind
            )

        def block(of: Block) -> Array:
            parts = [x[of[1:]] for x in held[of[0]]]
            joined = _empty((len(parts), *parts[0].shape), kind)
            for into, part in zip(joined, parts, strict=True):
                into[...] = part
            return joined

        return place_blocks(block, (len(held), *shape), sharding=of_layer)

    if at_once == len(layers):
        return some(0)
    zeros = partial(jnp.zeros, (len(layers), *shape), kind)
    whole: jax.Array = jax.jit(zeros, out_shardings=sharding)()
    for start in range(0, len(layers), at_once):
        whole = _writer(0)(whole, some(start), start).block_until_ready()
    return whole


def _within(sharding: Any) -> tuple[Any, bool]:
    """The sharding of a part of the layers; and whether layers are divided over devices."""
    spec: Any = getattr(sharding, "spec", ())
    if not len(spec) or spec[0] is None:
        return sharding, False
    return type(sharding)(sharding.mesh, type(spec)(None, *spec[1:])), True


@cache
def _writer(axis: int) -> Any:
    import jax

    def write(whole: jax.Array, part: jax.Array, start: int) -> jax.Array:
        return jax.lax.dynamic_update_slice_in_dim(whole, part, start, axis)

    return jax.jit(write, donate_argnums=0)


def _sent(held: Array, device: Any, dtype: Any) -> jax.Array:
    """A block on a device, or on the default one; when it returns, the host needs no copy of it.

    A driver first copies what it sends into memory of its own: large blocks go in pieces, in the
    order of the file.
    """
    import jax
    import jax.numpy as jnp

    kind = held.dtype if dtype is None else np.dtype(dtype)
    shares = _shares_memory(device or jax.local_devices()[0])

    axis = max(range(held.ndim), key=lambda i: (held.shape[i] > 1, held.strides[i]), default=0)
    num = held.shape[axis] if held.ndim else 1
    per = max(1, _AT_ONCE * num // max(1, held.size * kind.itemsize))

    def put(part: Array) -> jax.Array:
        if shares or kind != part.dtype:
            copy = _empty(part.shape, kind)
            copy[...] = part
            part = copy
        sent: jax.Array = jax.device_put(part, device).block_until_ready()
        return sent

    if per >= num:
        return put(held)
    at = (slice(None),) * axis
    pieces = [(*at, slice(start, start + per)) for start in range(0, num, per)]
    if shares:
        copy = _empty(held.shape, kind)
        for piece in pieces:
            copy[piece] = held[piece]
            release(held[piece])
        return jax.device_put(copy, device).block_until_ready()  # type: ignore[no-any-return]
    whole = jnp.zeros(held.shape, kind, device=device)
    for piece in pieces:
        whole = _writer(axis)(whole, put(held[piece]), piece[axis].start).block_until_ready()
        release(held[piece])
    return whole


def _shares_memory(device: Any) -> bool:
    """Whether JAX takes NumPy's memory as it is: on CPUs, where it must not be the mapped file's.

    `may_alias=False` does not prevent that.
    """
    return bool(device.platform == "cpu")


def _empty(shape: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """Memory at a multiple of 64 bytes: JAX copies any other."""
    size = math.prod(shape) * kind.itemsize
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(kind).reshape(shape)
