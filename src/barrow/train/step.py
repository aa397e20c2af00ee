"""The training step: a pure function (state, batch) → (state, metrics), compiled for a mesh.

Gradients are taken with respect to the parameters in the type of the computation, summed over
micro-batches in float32, and divided once by the weight (tokens) of the global batch: so a whole
batch, micro-batches and several devices give the same step, ragged rows or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import Any

import jax
import jax.numpy as jnp
import optax

from barrow.nn.compiled import compiled
from barrow.nn.tree import Tree, paths
from barrow.parallel import num_row_shards, whole
from barrow.parallel.offload import in_use
from barrow.parallel.placement import Placement
from barrow.parallel.processes import Together
from barrow.train.gradients import gradients, params_in_use, take_gradient
from barrow.train.loss_scale import LossScale, pick
from barrow.train.objectives.objective import Loss, Mean, Objective
from barrow.train.offloaded_update import OffloadedUpdate, start_outside
from barrow.train.precision import Precision
from barrow.train.state import TrainState

_ALL_FINITE, _LOSS_ALONE = -1, -2


@dataclass(frozen=True)
class StepSettings:
    """How a step computes.

    - `precision`: of the computation; `accumulate`: micro-batches of a step.
    - `clip`: the global norm that gradients are clipped to; None does not clip.
    - `ema`: the share of the average that stays at each step (0.999); None keeps no average.
    - `deterministic`: whether a GPU computes the same bits each time; without, it was 1 to 5 %
      faster.
    """

    precision: Precision = field(default_factory=Precision)
    accumulate: int = 1
    clip: float | None = 1.0
    ema: float | None = None
    deterministic: bool = True

    def __post_init__(self) -> None:
        if self.accumulate < 1:
            raise ValueError(f"accumulate must be ≥ 1, got {self.accumulate}")
        if self.clip is not None and not self.clip > 0:
            raise ValueError(f"clip must be > 0, got {self.clip}")
        if self.ema is not None and not 0 < self.ema < 1:
            raise ValueError(f"ema must be between 0 and 1, got {self.ema}")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepMetrics:
    """The metrics of a step.

    `bad_tensor` is the index, among the leaves of the parameters, of the first gradient that is not
    finite; −1 if all are finite, −2 if only the loss is not (see `bad_tensor_name`). Unless it is
    −1, no parameter changes.
    """

    loss: Mean
    metrics: dict[str, Mean]
    grad_norm: jax.Array
    bad_tensor: jax.Array
    scale: jax.Array | None


Step = Callable[[TrainState, Any], tuple[TrainState, StepMetrics]]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Gradients:
    """What a batch gives: clipped gradients of the mean loss, and what changes beside parameters.

    `grads` are `means` · `shrink`. Unless `is_finite`, none of it is used.
    """

    grads: Any
    means: Any
    shrink: jax.Array
    is_finite: jax.Array
    collections: Any
    scale: LossScale | None
    metrics: StepMetrics


def init_state(
    init: Callable[[jax.Array], Any],
    optimizer: optax.GradientTransformation,
    settings: StepSettings,
    key: jax.Array,
    *,
    collections: Any = None,
    placement: Placement | None = None,
    given: Mapping[str, jax.Array] | None = None,
) -> TrainState:
    """The initial state; ``init(key)`` makes parameters, each directly in its shard.

    `given` are parameters, by path, that are known already; their memory becomes the state's.
    """

    def make(key: jax.Array, given: Mapping[str, jax.Array]) -> TrainState:
        of_params, of_run = jax.random.split(key)
        params = jax.tree_util.tree_map_with_path(
            lambda path, x: given.get(jax.tree_util.keystr(path, simple=True, separator="/"), x),
            init(of_params),
        )
        return TrainState(
            step=jnp.int32(0),
            params=params,
            collections=Tree() if collections is None else collections,
            optimizer=optimizer.init(params),
            key=of_run,
            scale=_start_scale(settings.precision),
            ema=None if settings.ema is None else jax.tree.map(jnp.copy, params),
        )

    if placement is None:
        return jax.jit(make, donate_argnums=1)(key, given or {})  # type: ignore[no-any-return]
    shardings = placement.of_state(jax.eval_shape(make, key, given or {}))
    places = {
        jax.tree_util.keystr(path, simple=True, separator="/"): sharding
        for path, sharding in jax.tree_util.tree_leaves_with_path(shardings.params)
    }
    placed = {path: jax.device_put(x, places[path]) for path, x in (given or {}).items()}
    if placement.offload != "none":
        return start_outside(make, optimizer, placement, key, placed)
    made = jax.jit(make, out_shardings=shardings, donate_argnums=1)
    return made(key, placed)  # type: ignore[no-any-return]


def make_step(
    objective: Objective,
    optimizer: optax.GradientTransformation,
    settings: StepSettings,
    *,
    placement: Placement | None = None,
) -> Step:
    """The compiled step. It donates the state it is given; batches are pytrees of rows."""
    if placement is not None and placement.offload != "none":
        take = pure_gradients(objective, settings, placement=placement)
        return _Offloaded(take, OffloadedUpdate(optimizer), settings, placement)
    if objective.bind is None:
        step = pure_step(objective, optimizer, settings, placement=placement)
        return _Compiled(step, settings, placement)
    bind = objective.bind

    def bound(state: TrainState, batch: Any, frozen: Any) -> tuple[TrainState, StepMetrics]:
        return pure_step(bind(frozen), optimizer, settings, placement=placement)(state, batch)

    frozen = objective.frozen
    if placement is not None:
        frozen = jax.device_put(frozen, whole(placement.mesh))
    return _Compiled(bound, settings, placement, frozen)


def pure_step(
    objective: Objective,
    optimizer: optax.GradientTransformation,
    settings: StepSettings,
    *,
    placement: Placement | None = None,
) -> Step:
    """The step before it is compiled: a function to be transformed, by `jax.vmap` for example."""
    take = pure_gradients(objective, settings, placement=placement)

    def step(state: TrainState, batch: Any) -> tuple[TrainState, StepMetrics]:
        found = take(state, batch)
        after = updated(state, found, optimizer, settings)
        return replace(after, scale=found.scale, step=state.step + 1), found.metrics

    return step


def updated(
    state: TrainState,
    found: Gradients,
    optimizer: optax.GradientTransformation,
    settings: StepSettings,
) -> TrainState:
    """The state after a step of the optimizer; as it was where gradients are not finite."""
    updates, optimizer_state = optimizer.update(found.grads, state.optimizer, state.params)
    params = optax.apply_updates(state.params, updates)
    after = replace(
        state,
        params=params,
        optimizer=optimizer_state,
        collections=found.collections,
        ema=averaged(state.ema, params, settings.ema),
    )
    return pick(found.is_finite, after, state)  # type: ignore[no-any-return]


def pure_gradients(
    objective: Objective, settings: StepSettings, *, placement: Placement | None = None
) -> Callable[[TrainState, Any], Gradients]:
    """The part of a step before the optimizer's update."""
    if settings.accumulate > 1 and not objective.is_sum_over_rows:
        raise ValueError(
            "this loss is not a sum over rows, so its batch cannot be split: use accumulate=1"
        )
    precision = settings.precision

    def take(state: TrainState, batch: Any) -> Gradients:
        used = params_in_use(state.params, settings.precision, placement)
        if placement is not None:
            batch = placement.batch(batch)
        scale = None if state.scale is None else state.scale.scale
        key = jax.random.fold_in(state.key, state.step)
        loss, grads = gradients(
            take_gradient(objective, precision, placement, scale),
            used,
            state.collections,
            batch,
            key,
            num=settings.accumulate,
            placement=placement,
        )
        if placement is None or placement.mesh.size == 1:
            # Unrolled layers' gradients are stacked here: within the update XLA would compute it,
            # and stack, once for each of its results, and copy the moments for that. Over several
            # devices the sum of gradients and their division must stay together.
            grads = jax.lax.optimization_barrier(grads)
        found = clipped(grads, loss, settings, placement=placement, scale=scale)
        if state.scale is None:
            return found
        return replace(found, scale=state.scale.after(found.is_finite, precision.scale))

    return take


def clipped(
    grads: Any,
    loss: Loss,
    settings: StepSettings,
    *,
    placement: Placement | None = None,
    scale: jax.Array | None = None,
) -> Gradients:
    """Gradients of the mean of a loss, of those of its total, clipped; `scale` is reported."""
    weight = jnp.where(loss.weight == 0, 1.0, loss.weight)
    grads = jax.tree.map(lambda g: g.astype(jnp.float32) / weight, grads)
    if placement is not None:
        grads = placement.sharded(grads, placement.zero.masters)
    squares = jnp.stack([jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)])
    norm = jnp.sqrt(squares.sum())
    is_finite = jnp.isfinite(norm) & jnp.isfinite(loss.total)
    means, shrink = grads, jnp.float32(1)
    if settings.clip is not None:
        shrink = jnp.minimum(1.0, settings.clip / jnp.maximum(norm, 1e-30))
        grads = jax.tree.map(lambda g: g * shrink, grads)
    metrics = StepMetrics(
        loss=Mean(loss.total, loss.weight),
        metrics=dict(loss.metrics),
        grad_norm=norm,
        bad_tensor=bad_tensor(is_finite, squares),
        scale=scale,
    )
    return Gradients(grads, means, shrink, is_finite, loss.collections, None, metrics)


class _Offloaded:
    """A step in two: gradients by a compiled program, then `OffloadedUpdate`."""

    def __init__(
        self,
        take: Callable[[TrainState, Any], Gradients],
        update: OffloadedUpdate,
        settings: StepSettings,
        placement: Placement,
    ) -> None:
        take_means = compiled(
            lambda state, batch: replace(take(state, batch), grads=None),
            deterministic=settings.deterministic,
        )
        self._take = Together(take_means)
        self._update, self._settings, self._placement = update, settings, placement
        self._finish = jax.jit(self._finished, donate_argnums=(0, 1))

    def __call__(self, state: TrainState, batch: Any) -> tuple[TrainState, StepMetrics]:
        refuse_bad_batch(batch, self._settings, self._placement)
        used = in_use(state.params)
        found = self._take(replace(state, params=used, optimizer=None, ema=None), batch)
        del used
        after = self._update(state, found.means, (found.shrink, found.is_finite))
        params = None if state.ema is None else after.params
        rest = self._finish(state.ema, state.collections, params, state.step, found)
        ema, collections, step = rest
        after = replace(after, ema=ema, collections=collections, scale=found.scale, step=step)
        return after, found.metrics

    def _finished(self, ema: Any, before: Any, params: Any, step: Any, found: Gradients) -> Any:
        after = averaged(ema, params, self._settings.ema)
        ema = pick(found.is_finite, after, ema)
        return ema, pick(found.is_finite, found.collections, before), step + 1


class _Compiled:
    """A step, compiled once for each kind of batch; `lower` gives the program without running."""

    def __init__(
        self,
        step: Callable[..., tuple[TrainState, StepMetrics]],
        settings: StepSettings,
        placement: Placement | None,
        *more: Any,
    ) -> None:
        self._step, self._settings, self._placement = step, settings, placement
        self._more = more
        self._jitted: dict[Any, Any] = {}
        self._ahead: dict[Any, Future[Any]] = {}

    def __call__(self, state: TrainState, batch: Any) -> tuple[TrainState, StepMetrics]:
        call = self._of_kind(state, batch)
        ahead = self._ahead.pop(_kind(batch), None)
        if ahead is not None and ahead.exception() is None:
            self._jitted[_kind(batch)] = call = _Prepared(ahead.result(), call)
        return call(state, batch, *self._more)  # type: ignore[no-any-return]

    def prepare(self, state: TrainState, batch: Any) -> None:
        """Compile in a thread; the first step waits for it. The shapes of a state are enough."""
        self._ahead[_kind(batch)] = future = Future[Any]()

        def make() -> None:
            try:
                future.set_result(self.lower(state, batch).compile())
            except Exception as error:  # noqa: BLE001 - the step meets it too, and raises
                future.set_exception(error)

        Thread(target=make, name="compiles the step", daemon=True).start()

    def lower(self, state: TrainState, batch: Any) -> Any:
        """As `jax.jit(…).lower`: arrays, or only their shapes."""
        return self._of_kind(state, batch).lower(state, batch, *self._more)

    def _of_kind(self, state: TrainState, batch: Any) -> Any:
        kind = _kind(batch)
        if kind not in self._jitted:
            refuse_bad_batch(batch, self._settings, self._placement)
            out = None
            if self._placement is not None:
                out = (self._placement.of_state(jax.eval_shape(lambda s: s, state)), None)
            how: dict[str, Any] = {"donate_argnums": 0, "out_shardings": out}
            step = compiled(self._step, deterministic=self._settings.deterministic, **how)
            self._jitted[kind] = Together(step)
        return self._jitted[kind]


class _Prepared:
    """A program that was compiled ahead; for other arrays than it is for, the function itself."""

    def __init__(self, program: Any, function: Any) -> None:
        self._program, self._function = program, function

    def __call__(self, *args: Any) -> Any:
        if self._program is not None:
            try:
                return self._program(*args)
            except (TypeError, ValueError):  # of another type or place; nothing was donated yet
                self._program = None
        return self._function(*args)

    def lower(self, *args: Any) -> Any:
        return self._function.lower(*args)


def _kind(batch: Any) -> Any:
    leaves, structure = jax.tree.flatten(batch)
    return structure, tuple(jnp.shape(x) for x in leaves)


def bad_tensor_name(params: Any, index: int) -> str | None:
    """The path of the parameter of `StepMetrics.bad_tensor`; None where all is finite."""
    if index == _ALL_FINITE:
        return None
    return "the loss itself" if index == _LOSS_ALONE else list(paths(params))[index]


def refuse_bad_batch(batch: Any, settings: StepSettings, placement: Placement | None) -> None:
    """Raise unless a batch's rows can be divided by micro-batches and devices."""
    shapes = {
        jax.tree_util.keystr(path): jnp.shape(x)
        for path, x in jax.tree_util.tree_leaves_with_path(batch)
    }
    rows = {shape[0] if shape else 0 for shape in shapes.values()}
    if len(rows) != 1:
        raise ValueError(
            "the arrays of a batch must have the same first dimension, rows, got "
            + (", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "none at all")
        )
    (num,) = rows
    parts = settings.accumulate * (1 if placement is None else num_row_shards(placement.mesh))
    if not num or num % parts:
        raise ValueError(
            f"a batch of {num} rows cannot be divided into {settings.accumulate} micro-batches"
            + ("" if placement is None else f" over {num_row_shards(placement.mesh)} devices")
            + f": pass a multiple of {parts} rows, padded with rows of mask 0"
        )


def bad_tensor(is_finite: jax.Array, squares: jax.Array) -> jax.Array:
    """Of the sums of squares of all gradients; one past float32's largest number counts as bad."""
    bad = ~jnp.isfinite(squares)
    first = jnp.where(bad.any(), jnp.argmax(bad), jnp.argmax(squares))
    lost = jnp.where(jnp.isfinite(squares.sum()), _LOSS_ALONE, first)
    return jnp.where(is_finite, _ALL_FINITE, lost).astype(jnp.int32)


def _start_scale(precision: Precision) -> LossScale | None:
    return LossScale.start(precision.scale) if precision.is_scaled else None


def averaged(ema: Any, params: Any, share: float | None) -> Any:
    """The average of parameters after a step that gave new ones; None if none is kept."""
    if share is None:
        return None
    return jax.tree.map(lambda old, new: share * old + (1 - share) * new, ema, params)
