"""The optimizer's update with its state, or masters too, outside the devices: a layer at a time.

The next layer's state is on its way to the devices while one layer is updated and the one before
is on its way back. An update that treats each number by itself gives the same bits in parts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import optax
from jax import lax

from barrow.checkpoint.leaves import leaves, rebuilt
from barrow.errors import ConfigError
from barrow.nn.flops import inner_jaxprs
from barrow.nn.tree import from_paths
from barrow.parallel.offload import Kept, Outside
from barrow.parallel.placement import Placement
from barrow.train.loss_scale import pick
from barrow.train.state import TrainState

# Operations that compute each element from the same elements of their inputs.
_ELEMENTWISE = {
    *("abs", "add", "add_any", "and", "ceil", "clamp", "convert_element_type", "copy", "cos"),
    *("div", "eq", "erf", "exp", "expm1", "floor", "ge", "gt", "integer_pow", "is_finite", "le"),
    *("log", "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg", "not", "or", "pow"),
    *("rem", "round", "rsqrt", "select_n", "sign", "sin", "sqrt", "square", "stop_gradient"),
    *("sub", "tanh", "xor"),
}
Leaves = dict[str, Any]


def refuse_joint_updates(optimizer: optax.GradientTransformation, params: Any) -> None:
    """Raise unless an optimizer treats each number by itself, so that it can work in parts."""
    state = jax.eval_shape(optimizer.init, params)
    joint = sorted(set(_joint(jax.make_jaxpr(optimizer.update)(params, state, params).jaxpr)))
    if joint:
        raise ConfigError(
            "mesh.offload needs an optimizer that treats each number by itself, such as AdamW or "
            f"Lion; this one uses {', '.join(joint[:5])}"
        )


def _joint(jaxpr: Any) -> Iterator[str]:
    """Operations on arrays that are not elementwise."""
    for equation in jaxpr.eqns:
        inner = list(inner_jaxprs(equation))
        for part in inner:
            yield from _joint(part)
        kind = equation.primitive.name
        given, made = (
            max((len(x.aval.shape) for x in some), default=0)
            for some in (equation.invars, equation.outvars)
        )
        # Numbers (of a schedule, say) may be computed in any way, and broadcast.
        of_numbers = given == 0 and (made == 0 or kind == "broadcast_in_dim")
        if not (inner or of_numbers or kind in _ELEMENTWISE):
            yield kind


def start_outside(
    make: Callable[..., TrainState],
    optimizer: optax.GradientTransformation,
    placement: Placement,
    key: jax.Array,
    given: Mapping[str, jax.Array],
) -> TrainState:
    """The state of ``make(key, given)``; what is kept outside passes the devices leaf by leaf."""
    shapes = jax.eval_shape(make, key, given)
    where_all = jax.tree.leaves(placement.of_state(shapes, kept=True))
    places = dict(zip(leaves(shapes), where_all, strict=True))
    # Moments are made from parameters, so these leave the devices last.
    inside = {
        path: at.sharding if isinstance(at, Outside) else at
        for path, at in places.items()
        if not isinstance(at, Outside) or path.startswith("params/")
    }

    def some(key: jax.Array, given: Mapping[str, jax.Array]) -> Leaves:
        found = leaves(make(key, given))
        return {path: found[path] for path in inside}

    found = jax.jit(some, out_shardings=inside, donate_argnums=1)(key, given)
    params = rebuilt(shapes, {path: found.get(path) for path in places}).params
    for path, where in places.items():
        if isinstance(where, Outside) and path not in inside:
            first = partial(_first, optimizer, path)
            found[path] = _kept(where, jax.jit(first, out_shardings=where.sharding)(params))
    del params
    for path, where in places.items():
        if isinstance(where, Outside) and path in inside:
            found[path] = _kept(where, found.pop(path))
    state: TrainState = rebuilt(shapes, found)
    return state


def _first(optimizer: optax.GradientTransformation, path: str, params: Any) -> Any:
    return leaves({"optimizer": optimizer.init(params)})[path]


def _kept(where: Outside, whole: jax.Array) -> Kept:
    kept = Kept(where, whole.shape, whole.dtype)
    for part in range(kept.num_parts):
        kept.store(part, whole[part : part + 1] if kept.is_layered else whole)
        kept.wait(part)
    return kept


class OffloadedUpdate:
    """(state, gradients) → state, where large leaves of its optimizer or params are `Kept`."""

    def __init__(self, optimizer: optax.GradientTransformation) -> None:
        self._optimizer = optimizer
        self._compiled: dict[tuple[str, ...], Any] = {}

    def __call__(
        self, state: TrainState, means: Any, scales: tuple[jax.Array, jax.Array]
    ) -> TrainState:
        """The state after an update; it donates the one before.

        `scales` are the factor that clips gradients (within the update, as in a step that is one
        program: else bits would differ), and whether all are finite: else nothing changes.
        """
        params, slopes, held = map(leaves, (state.params, means, state.optimizer))
        kept = {name: leaf for name, leaf in held.items() if isinstance(leaf, Kept)}
        owner = {name: _param_of(name, leaf.shape, params) for name, leaf in kept.items()}
        masters = {path: leaf for path, leaf in params.items() if isinstance(leaf, Kept)}
        parts = _parts(params, {path: kept[name] for name, path in owner.items()} | masters)
        after: Leaves = {}

        def fetch(number: int) -> tuple[Leaves, Leaves]:
            if number == len(parts):
                return {}, {}
            paths, at, _ = parts[number]
            moments = {n: kept[n].fetch(at) for n, path in owner.items() if path in paths}
            return moments, {path: masters[path].fetch(at) for path in paths if path in masters}

        under_way: deque[tuple[list[Kept], int]] = deque()
        coming = fetch(0)
        for number, (paths, at, is_layered) in enumerate(parts):
            (moments, own), coming = coming, fetch(number + 1)
            rest = {n: x for n, x in held.items() if n not in kept}
            some = {path: params[path] for path in paths if path not in masters}
            update = self._program(some, own, moments, is_layered=is_layered)
            new, own, moments, counts = update(
                some, own, {path: slopes[path] for path in paths}, moments, rest, scales, at
            )
            params |= new
            after |= counts
            stored = _stored(kept, moments, at) + _stored(masters, own, at)
            under_way.append((stored, at))
            del moments, own, some, new
            if len(under_way) > 1:  # the devices hold three parts: before, now and next
                before = under_way.popleft()
                for where in before[0]:
                    where.wait(before[1])
        return replace(
            state,
            params=rebuilt(state.params, params),
            optimizer=rebuilt(state.optimizer, held | after),
        )

    def _program(self, params: Leaves, own: Leaves, moments: Leaves, *, is_layered: bool) -> Any:
        paths = (*params, *own)
        if paths not in self._compiled:
            out = [{n: x.sharding for n, x in some.items()} for some in (params, own, moments)]
            self._compiled[paths] = jax.jit(
                partial(self._update, is_layered=is_layered),
                donate_argnums=(0, 1, 3),
                out_shardings=(*out, None),
            )
        return self._compiled[paths]

    def _update(
        self,
        params: Leaves,
        own: Leaves,
        means: Leaves,
        moments: Leaves,
        rest: Leaves,
        scales: tuple[jax.Array, jax.Array],
        at: jax.Array,
        *,
        is_layered: bool,
    ) -> tuple[Leaves, Leaves, Leaves, Leaves]:
        """`own` are parts of masters that are kept outside, `params` whole ones."""

        def part(some: Leaves) -> Leaves:
            cut = {p: lax.dynamic_slice_in_dim(x, at, 1) for p, x in some.items()}
            return cut if is_layered else some

        shrink, is_finite = scales
        grads = jax.tree.map(lambda g: g * shrink, from_paths(part(means)))
        given = part(params) | own
        before = from_paths({path: given[path] for path in means})
        like = jax.eval_shape(self._optimizer.init, before)
        held = rebuilt(like, rest | moments)
        updates, after = self._optimizer.update(grads, held, before)
        new = leaves(pick(is_finite, optax.apply_updates(before, updates), before))
        own = {path: new.pop(path) for path in own}
        if is_layered:
            new = {p: lax.dynamic_update_slice_in_dim(params[p], x, at, 0) for p, x in new.items()}
        found = leaves(pick(is_finite, after, held))
        counts = {name: x for name, x in found.items() if name not in moments}
        return new, own, {name: found[name] for name in moments}, counts


def _stored(kept: Mapping[str, Kept], parts: Leaves, at: int) -> list[Kept]:
    for name, part in parts.items():
        kept[name].store(at, part)
    return [kept[name] for name in parts]


def _param_of(name: str, shape: tuple[int, ...], params: Mapping[str, Any]) -> str:
    """The parameter of a moment: the longest path that ends its name, of the same shape."""
    keys = name.split("/")
    paths = ("/".join(keys[start:]) for start in range(len(keys)))
    return next(path for path in paths if path in params and params[path].shape == shape)


def _parts(params: Leaves, kept: Mapping[str, Kept]) -> list[tuple[list[str], int, bool]]:
    """What is updated together: each layer of all stacks, and what is not in a stack.

    Paths, the number of the layer, and whether it is one. Never one array alone if there are
    others: XLA divides by a number that only one division uses by another way, with other bits.
    """
    groups: dict[Any, list[str]] = {}
    for path in params:
        one = kept.get(path)
        key = one.num_parts if one is not None and one.is_layered else "rest"
        groups.setdefault(key, []).append(path)
    return [
        (paths, at, isinstance(key, int))
        for key, paths in groups.items()
        for at in range(key if isinstance(key, int) else 1)
    ]
