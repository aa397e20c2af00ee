"""A module repeated several times, each time with its own parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from barrow.nn.inner import Variables, describe_inner, pure, variables, write_back
from barrow.nn.layers.remat import Policy
from barrow.nn.module import Module
from barrow.nn.scope import Scope
from barrow.nn.trace import Constrain, inside
from barrow.nn.tree import Tree, paths

_LARGE = 1 << 23  # bytes of a layer's array: below, one kernel for all layers is as quick


@dataclass(frozen=True)
class Repeat(Module):
    """`num` layers: ``body(scope, carry, each, *shared) -> (carry, out)`` for one after another.

    Parameters of all layers are one array with a leading dimension `layers`, under the same names
    whether the loop is scanned (compiled once) or unrolled (the compiler optimises across layers):
    each run may choose, and checkpoints do not depend on it. `each` has an entry per layer (its
    cache), or is None; outputs have one per layer too. Unrolled, those stay separate arrays: a scan
    would copy them all. Unrolled, parameters may also be a tuple with a tree for each layer (see
    `take_apart`): a slice of one array is copied at each use, which makes decoding several times
    slower.
    """

    body: Module
    num: int
    unroll: bool = False
    remat: Policy | None = None

    def __post_init__(self) -> None:
        if self.num < 1:
            raise ValueError(f"Repeat: num must be ≥ 1, got {self.num}")

    def forward(
        self, scope: Scope, carry: Any, each: Sequence[Any] | None = None, *shared: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        """The last carry, and the output of each layer."""
        within = inside(scope.trace.constrain) if each is None else None
        each = (None,) * self.num if each is None else tuple(each)
        if len(each) != self.num:
            raise ValueError(f"{scope.name}: {len(each)} entries for {self.num} layers")
        if scope.trace.is_describing:
            return self._describe(scope, carry, each, *shared)
        held = variables(scope)
        apart = held.params if isinstance(held.params, tuple) else None
        if apart is None:
            self._refuse_other_lengths(scope, held)
        else:
            self._refuse_apart(scope, apart)
            held = replace(held, params=Tree())
        if within is not None and apart is None:
            return self._in_stages(scope, within, held, carry, shared)
        function = self._function(scope)
        layers = replace(held, keys=self._split(held.keys))

        def layer(state: Any, given: tuple[Variables, Any]) -> tuple[Any, Any]:
            (after, out), written = function(given[0], state, given[1], *shared)
            return after, (out, written)

        if self.unroll:
            steps = []
            apiece = _unstacked(layers, self.num)
            for i, own in enumerate(each):
                given = apiece[i]
                given = given if apart is None else replace(given, params=apart[i])
                carry, step = layer(carry, (given, own))
                steps.append(step)
            outs = tuple(out for out, _ in steps)
            written = _stacked([written for _, written in steps])
        else:
            carry, (stacked, written) = lax.scan(layer, carry, (layers, _stacked(each)))
            outs = tuple(jax.tree.map(lambda x, i=i: x[i], stacked) for i in range(self.num))
        write_back(scope, written)
        return carry, outs

    def _function(self, scope: Scope) -> Callable[..., Any]:
        function = pure(scope, self.body)
        if self.remat is None:
            return function
        # Inside a scan nothing is merged with what is outside: no need to prevent it.
        return jax.checkpoint(function, policy=self.remat.saveable(), prevent_cse=self.unroll)

    def _split(self, keys: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
        return {name: jax.random.split(key, self.num) for name, key in keys.items()}

    def _in_stages(
        self, scope: Scope, within: Constrain, held: Variables, carry: Any, shared: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        """As a pipeline; micro-batch m has the keys of a batch with ``fold_in(key, m)``."""
        function = self._function(scope.with_trace(replace(scope.trace, constrain=within)))

        def group(given: Any, carry: Any, shared: Any, number: jax.Array) -> tuple[Any, Any]:
            def layer(state: Any, own: Variables) -> tuple[Any, Any]:
                (after, out), written = function(own, state, None, *shared)
                return after, (out, written)

            layers, places = given
            keys = {name: jax.random.fold_in(key, number) for name, key in held.keys.items()}
            keys = {name: each[places] for name, each in self._split(keys).items()}
            layers = replace(layers, keys=keys)
            if not self.unroll:
                return lax.scan(layer, carry, layers)
            steps = []
            for own in _unstacked(layers, len(places)):
                carry, step = layer(carry, own)
                steps.append(step)
            return carry, _stacked(steps)

        constrain = scope.trace.constrain
        assert constrain is not None
        layers = replace(held, keys={}), jnp.arange(self.num)
        carry, (outs, written) = constrain.staged(group, layers, carry, shared)
        write_back(scope, written)
        return carry, tuple(jax.tree.map(lambda x, i=i: x[i], outs) for i in range(self.num))

    def _describe(
        self, scope: Scope, carry: Any, each: Sequence[Any], *shared: Any
    ) -> tuple[Any, tuple[Any, ...]]:
        after, out = describe_inner(scope, self.body, carry, each[0], *shared, num_stacked=self.num)
        before, now = (jax.tree.map(_looks, x) for x in (carry, after))
        if before != now:
            raise ValueError(
                f"{scope.name}: a repeated module must return what it takes, but it took "
                f"{before} and returned {now}"
            )
        return after, (out,) * self.num

    def _refuse_apart(self, scope: Scope, apart: tuple[Any, ...]) -> None:
        if not self.unroll:
            raise ValueError(f"{scope.name}: unstacked parameters need unrolled layers")
        if len(apart) != self.num:
            raise ValueError(
                f"{scope.name}: the model has {self.num} layers, but the parameters have "
                f"{len(apart)}"
            )

    def _refuse_other_lengths(self, scope: Scope, held: Variables) -> None:
        for kind, tree in (("parameters", held.params), *held.collections.items()):
            for path, leaf in paths(tree).items():
                for part in jax.tree.leaves(leaf):
                    # Unrolled, an index past the end would silently give the last layer again.
                    if jnp.ndim(part) == 0 or part.shape[0] != self.num:
                        raise ValueError(
                            f"{scope.name}/{path}: the model has {self.num} layers, but "
                            f"the {kind} have an array of shape {jnp.shape(part)}"
                        )


def take_apart(params: Mapping[str, Any], name: str) -> Tree:
    """Parameters with the repeated layers under `name` as a tuple of trees, one for each."""
    stacked = params[name]
    num = jax.tree.leaves(stacked)[0].shape[0]
    layers = tuple(jax.tree.map(lambda x, i=i: x[i], stacked) for i in range(num))
    return Tree({**params, name: layers})


def axes_apart(axes: Mapping[str, Any], params: Mapping[str, Any], name: str) -> Tree:
    """The axes (`nn.axes`) of parameters unstacked by `take_apart`."""
    layer = jax.tree.map(lambda names: names[1:], axes[name], is_leaf=_is_names)
    return Tree({**axes, name: (layer,) * len(params[name])})


def _is_names(x: Any) -> bool:
    return isinstance(x, tuple)


def put_together(params: Mapping[str, Any], name: str) -> Tree:
    """The inverse of `take_apart`: stacked layers, on the host, as parameters are saved."""
    layers = jax.tree.map(lambda *xs: np.stack([np.asarray(x) for x in xs]), *params[name])
    return Tree({**params, name: layers})


def _stacked(entries: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *xs: jnp.stack(xs), *entries)


def _unstacked(tree: Any, num: int) -> list[Any]:
    """A tree for each entry of the leading dimension.

    By one split, whose gradient is one concatenation; that of `num` slices is a sum of as many
    arrays of the whole size.
    """
    leaves, structure = jax.tree.flatten(tree)
    large = [i for i, x in enumerate(leaves) if _is_copied(x, num)]
    parts = [() if i in large else _split(x, num) for i, x in enumerate(leaves)]
    for i, entries in zip(large, split_to_copy([leaves[i] for i in large], num), strict=True):
        parts[i] = entries
    return [jax.tree.unflatten(structure, each) for each in zip(*parts, strict=True)] or [
        tree
    ] * num


def _split(x: jax.Array, num: int) -> tuple[jax.Array, ...]:
    if _is_key(x):
        return tuple(x[i] for i in range(num))
    return tuple(lax.squeeze(part, (0,)) for part in lax.split(x, (1,) * num))


def _is_copied(x: jax.Array, num: int) -> bool:
    """Whether gradients of the entries are copied: on one GPU, where they are large."""
    is_alone = jax.default_backend() == "gpu" and jax.device_count() == 1
    if not is_alone or not jnp.issubdtype(x.dtype, jnp.floating):
        return False
    return x.size // num * x.dtype.itemsize >= _LARGE


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def split_to_copy(arrays: list[jax.Array], num: int) -> list[tuple[jax.Array, ...]]:
    """The entries of each array; their gradients are copied into one array, entry by entry.

    A GPU copies at the speed of its memory; XLA's concatenation of many arrays has a fifth of it.
    """
    return [_split(x, num) for x in arrays]


def _split_forward(arrays: list[jax.Array], num: int) -> tuple[list[tuple[jax.Array, ...]], None]:
    return split_to_copy(arrays, num), None


def _split_backward(
    num: int, _: None, given: list[tuple[jax.Array, ...]]
) -> tuple[list[jax.Array]]:
    # When all are there: before, activations still need the memory.
    given = lax.optimization_barrier(given)
    found = []
    for parts in given:
        whole = lax.empty((num, *parts[0].shape), parts[0].dtype)
        for i, part in enumerate(parts):
            whole = lax.dynamic_update_index_in_dim(whole, part, i, 0)
        found.append(whole)
    return (found,)


split_to_copy.defvjp(_split_forward, _split_backward)


def _is_key(x: jax.Array) -> bool:
    return bool(jnp.issubdtype(x.dtype, jax.dtypes.prng_key))


def _looks(x: Any) -> str:
    return f"{jnp.result_type(x).name}{list(jnp.shape(x))}"
