"""A model over devices of unequal memory, for inference: each layer is on one of them, or the host.

Activations go from device to device. Layers in the memory of the host are sent to a device one at a
time, when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.errors import ConfigError
from barrow.nn.module import Module
from barrow.nn.trace import Axes
from barrow.nn.tree import Tree

LAYERS = "layers"


@dataclass(frozen=True)
class Group:
    """Layers from `first` to before `last` on a device; with `is_on_host` only while it computes.

    `params` are theirs, stacked.
    """

    device: Any
    first: int
    last: int
    params: Any
    is_on_host: bool = False


@dataclass(frozen=True)
class PlacedModel:
    """A model whose layers are on several devices; what is not a layer is on the first of them."""

    model: Module
    params: Any
    groups: tuple[Group, ...]
    _compiled: dict[Any, Any] = field(default_factory=dict, repr=False)

    def apply(self, *inputs: Any, **kwargs: Any) -> Any:
        """As `Module.apply` without parameters: outputs are on the device of the embeddings.

        Without caches: for scores, embeddings and logits, not for generating token by token.
        """
        over: Any = _OverDevices(self.groups, self._compiled, jax.tree.structure(kwargs))
        return self.model.apply(self.params, *inputs, constrain=over, **kwargs)


def place_layers(model: Module, params: Any, limits: Mapping[Any, int]) -> PlacedModel:
    """Place a model's parameters on devices, each with at most so many bytes of them.

    Layers fill the devices in the order given; those that fit nowhere stay in the memory of the
    host, and the device with most room keeps a place for one of them.
    """
    if LAYERS not in params:
        raise ConfigError(f"no layers of this model are stacked: its parts are {', '.join(params)}")
    ends = Tree({name: part for name, part in params.items() if name != LAYERS})
    num = jax.tree.leaves(params[LAYERS])[0].shape[0]
    size, of_layer = _bytes(ends), _bytes(params[LAYERS]) // num
    home = max(limits, key=lambda device: limits[device])
    if size + of_layer > limits[home]:
        raise ConfigError(
            f"a device needs {size + of_layer:,} bytes for all but the layers and one layer, but "
            f"the largest limit is {limits[home]:,}: use a device with more memory"
        )
    room = {device: limit - size * (device == home) for device, limit in limits.items()}
    if sum(free // of_layer for free in room.values()) < num:
        room[home] -= of_layer
    host = jax.tree.map(np.asarray, params[LAYERS])
    groups, first = [], 0
    for device, free in room.items():
        last = min(num, first + max(free, 0) // of_layer)
        if last > first:
            some = jax.tree.map(lambda x, a=first, b=last: x[a:b], host)
            groups.append(Group(device, first, last, jax.device_put(some, device)))
        first = last
    if first < num:
        some = jax.tree.map(lambda x: x[first:], host)
        groups.append(Group(home, first, num, some, is_on_host=True))
    empty = jax.tree.map(lambda x: np.broadcast_to(np.zeros((), x.dtype), x.shape), host)
    return PlacedModel(model, Tree({**jax.device_put(ends, home), LAYERS: empty}), tuple(groups))


@dataclass(frozen=True)
class _OverDevices:
    """For `Module.apply(…, constrain=…)`: repeated layers run in groups, all else where it is."""

    groups: tuple[Group, ...]
    compiled: dict[Any, Any]
    kind: Any
    is_mapped: bool = False

    def __call__(self, x: jax.Array, axes: Axes) -> jax.Array:
        del axes
        return x

    @property
    def inside(self) -> Callable[[jax.Array, Axes], jax.Array]:
        return lambda x, _: x

    def staged(
        self, group: Callable[..., Any], layers: Any, x: Any, shared: Any
    ) -> tuple[Any, Any]:
        held, places = layers
        home, outs = jax.tree.leaves(x)[0].devices(), []
        run = self.compiled.setdefault(self.kind, jax.jit(group))
        for one in self.groups:
            step = 1 if one.is_on_host else one.last - one.first
            for first in range(one.first, one.last, step):
                part = slice(first - one.first, first - one.first + step)
                params = jax.tree.map(lambda p, part=part: p[part], one.params)
                given = replace(held, params=params), places[first : first + step]
                given, x, shared = jax.device_put((given, x, shared), one.device)
                x, out = run(given, x, shared, jnp.int32(0))
                outs.append(out)
        (first_device,) = home
        x, outs = jax.device_put((x, outs), first_device)
        return x, jax.tree.map(lambda *parts: jnp.concatenate(parts), *outs)


def _bytes(tree: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))
