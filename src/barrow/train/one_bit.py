"""Adam whose devices exchange a few bits of each number instead of a gradient (1-bit Adam).

The first steps are AdamW's. Then the second moment is kept as it is, so an update is linear in the
gradients: each device adds its own gradient to the common momentum, and what it sends of the
result, in units of √second moment, is its sign and one scale for a block. The mean of that comes
back in two bits: after one bit all numbers of a block would have the same size. What bits leave out
is added to what is sent at the next step, so over many steps nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jax.sharding import PartitionSpec

from barrow.parallel.placement import Placement
from barrow.parallel.processes import Together
from barrow.train.gradients import gradients, take_gradient
from barrow.train.loss_scale import pick
from barrow.train.objectives.objective import Mean, Objective
from barrow.train.optimizers import check_numbers, decayed, rate_of
from barrow.train.schedules import Cosine, Schedule
from barrow.train.state import TrainState
from barrow.train.step import StepMetrics, StepSettings, averaged, bad_tensor, make_step

_BLOCK = 64  # numbers that share a scale
# Two bits: numbers up to an edge and beyond it, as parts of the mean size of a block. These leave
# out least of normal numbers (Lloyd and Max).
_EDGE, _SMALL, _LARGE = 1.23, 0.567, 1.893
# The least second moment, of its mean in a tensor: what had no gradient in the first steps would
# get updates without bound.
_LEAST = 0.01
_SKETCH = 128  # sums from which the norm of the gradient is estimated
_AXIS = "data"


@dataclass(frozen=True)
class OneBitAdam:
    """AdamW that sends about an eighteenth of the bytes after its first steps.

    - `warmup`: steps of plain AdamW, until the second moments are known.
    - `schedule`: of the learning rate; `weight_decay`: of kernels and tables.
    - `beta1`, `beta2`: what stays of the averages of gradients and their squares at each step.
    - `eps`: what is added to the root of the squares.
    """

    warmup: int
    schedule: Schedule = field(default_factory=Cosine)
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.1

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.warmup < 1:
            raise ValueError(f"warmup must be ≥ 1, got {self.warmup}")

    def make(self, num_steps: int) -> OneBit:
        """See `Optimizer`."""
        adam = optax.scale_by_adam(self.beta1, self.beta2, self.eps)
        rest = optax.chain(
            optax.add_decayed_weights(self.weight_decay, mask=decayed),
            optax.scale_by_learning_rate(rate_of(self.schedule, num_steps)),
        )

        def init(params: Any) -> OneBitState:
            num, size = jax.device_count(), sum(x.size for x in jax.tree.leaves(params))
            whole = -(-size // (num * _BLOCK)) * _BLOCK
            errors = Errors(jnp.zeros((num, num * whole)), jnp.zeros((num, whole)))
            return OneBitState(adam.init(params), rest.init(params), errors)

        def update(grads: Any, state: OneBitState, params: Any = None) -> tuple[Any, OneBitState]:
            grads, moments = adam.update(grads, state.adam, params)
            updates, last = rest.update(grads, state.rest, params)
            return updates, OneBitState(moments, last, state.of_devices)

        return OneBit(init, update, rest.update, self)


class OneBit(NamedTuple):
    """A transformation of optax for the first steps, and what the others need."""

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]
    rest: Callable[..., tuple[Any, Any]]
    settings: OneBitAdam


class Errors(NamedTuple):
    """What compression left out: [devices, numbers] of what each sent, and of what it averaged."""

    sent: jax.Array
    averaged: jax.Array


class OneBitState(NamedTuple):
    """Moments; of the rate and decay; a row of errors for each device."""

    adam: optax.ScaleByAdamState
    rest: Any
    of_devices: Errors


@dataclass
class OneBitStep:
    """The step: two programs, `plain`, and `compressed`, which sends bits."""

    objective: Objective
    optimizer: OneBit
    settings: StepSettings
    placement: Placement
    is_warm: bool = False

    def __post_init__(self) -> None:
        mesh = self.placement.mesh
        if mesh.shape[_AXIS] != mesh.size or self.placement.offload != "none":
            found = ", ".join(f"{name}={size}" for name, size in mesh.shape.items() if size > 1)
            raise ValueError(
                f"OneBitAdam divides the batch alone: use mesh.data={mesh.size}, no other axis and "
                f"no offload, got {found}, offload={self.placement.offload}"
            )
        if self.settings.precision.is_scaled or not self.objective.is_sum_over_rows:
            raise ValueError("OneBitAdam needs fp32 or bf16, and a loss that is a sum over rows")
        given: Any = self.objective, self.optimizer, self.settings
        self.plain: Any = make_step(*given, placement=self.placement)
        self.compressed = Together(jax.jit(self._compressed, donate_argnums=0))

    def __call__(self, state: TrainState, batch: Any) -> tuple[TrainState, StepMetrics]:
        # The number is read in the first steps only: reading it waits for the step before.
        if not self.is_warm and not isinstance(state.step, jax.core.Tracer):
            self.is_warm = int(state.step) >= self.optimizer.settings.warmup
        step = self.compressed if self.is_warm else self.plain
        return step(state, batch)  # type: ignore[no-any-return]

    def lower(self, state: TrainState, batch: Any) -> Any:
        """As `jax.jit(…).lower`, of the first steps."""
        return self.plain.lower(state, batch)

    def _compressed(self, state: TrainState, batch: Any) -> tuple[TrainState, StepMetrics]:
        rows, same, before = PartitionSpec(_AXIS), PartitionSpec(), state.optimizer
        direction, errors, metrics = jax.shard_map(
            self._on_device,
            mesh=self.placement.mesh,
            in_specs=(same, rows, rows),
            out_specs=(same, rows, same),
            check_vma=False,
        )(replace(state, optimizer=before.adam, ema=None), before.of_devices, batch)
        units = jax.tree.map(self._unit, before.adam.nu)
        momentum = jax.tree.map(jnp.multiply, direction, units)
        moments = before.adam._replace(count=before.adam.count + 1, mu=momentum)
        correction = 1 - self.optimizer.settings.beta1**moments.count
        direction = jax.tree.map(lambda x: x / correction, direction)
        updates, last = self.optimizer.rest(direction, before.rest, state.params)
        params = optax.apply_updates(state.params, updates)
        after = replace(
            state,
            params=params,
            optimizer=OneBitState(moments, last, errors),
            ema=averaged(state.ema, params, self.settings.ema),
        )
        after = pick(metrics.bad_tensor == -1, after, state)
        return replace(after, step=state.step + 1), metrics

    def _on_device(self, state: TrainState, errors: Errors, rows: Any) -> tuple[Any, Any, Any]:
        """The direction of the update, common to all, from this device's rows."""
        settings, adam, beta = self.settings, state.optimizer, self.optimizer.settings.beta1
        key = jax.random.fold_in(state.key, state.step)
        loss, grads = gradients(
            take_gradient(self.objective, settings.precision, None, None),
            settings.precision.cast(state.params),
            state.collections,
            rows,
            jax.random.fold_in(key, jax.lax.axis_index(_AXIS)),
            num=settings.accumulate,
            placement=None,
        )
        if jax.tree.leaves(loss.collections):
            raise ValueError("OneBitAdam needs a model without running statistics")
        means = {"loss": Mean(loss.total, loss.weight), **loss.metrics}
        means = jax.tree.map(lambda x: jax.lax.psum(x, _AXIS), means)
        total = means.pop("loss")
        # The mean of these over the devices is the gradient.
        factor = jax.lax.axis_size(_AXIS) / jnp.where(total.weight == 0, 1.0, total.weight)
        grads = jax.tree.map(lambda g: g.astype(jnp.float32) * factor, grads)
        squares = jnp.stack([jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)])
        norm, shrink = mean_norm(ravel_pytree(grads)[0], key), jnp.float32(1)
        if settings.clip is not None:
            shrink = jnp.minimum(1.0, settings.clip / jnp.maximum(norm, 1e-30))
        own = jax.tree.map(
            lambda m, g, v: (beta * m + (1 - beta) * shrink * g) / self._unit(v),
            adam.mu,
            grads,
            adam.nu,
        )
        vector, back = ravel_pytree(own)
        common, after = exchange(vector, jax.tree.map(lambda x: x[0], errors))
        squares = jax.lax.pmean(squares, _AXIS)
        is_finite = jnp.isfinite(squares.sum()) & jnp.isfinite(total.total)
        bad = bad_tensor(is_finite, squares)
        metrics = StepMetrics(total, means, norm, bad, scale=None)
        return back(common), jax.tree.map(lambda x: x[None], after), metrics

    def _unit(self, second: jax.Array) -> jax.Array:
        """The root of a second moment as it was after the first steps."""
        settings = self.optimizer.settings
        mean = second / (1 - settings.beta2**settings.warmup)
        return jnp.sqrt(jnp.maximum(mean, _LEAST * mean.mean())) + settings.eps


def exchange(vector: jax.Array, errors: Errors) -> tuple[jax.Array, Errors]:
    """The mean of a vector over the devices, from bits, and what they leave out; in `shard_map`.

    Each device averages a part of all vectors, and sends that to all.
    """
    padded = jnp.pad(vector, (0, errors.sent.size - vector.size)) + errors.sent
    parts = padded.reshape(jax.lax.axis_size(_AXIS), -1, _BLOCK)
    packed = pack(parts, bits=1)
    sent = (parts - unpack(packed)).reshape(-1)
    own = unpack(jax.lax.all_to_all(packed, _AXIS, 0, 0))
    mean = own.mean(0) + errors.averaged.reshape(-1, _BLOCK)
    packed = pack(mean, bits=2)
    left = (mean - unpack(packed)).reshape(-1)
    common = unpack(jax.lax.all_gather(packed, _AXIS)).reshape(-1)
    return common[: vector.size], Errors(sent, left)


def mean_norm(vector: jax.Array, key: jax.Array) -> jax.Array:
    """The norm of the mean of a vector over the devices, to about 6 %, from sums of random signs.

    Norms of the devices' own vectors are larger: the noise of few rows is in them.
    """
    signs = jax.random.rademacher(key, vector.shape, jnp.float32)
    padded = jnp.pad(vector * signs, (0, -vector.size % _SKETCH))
    sums = padded.reshape(-1, _SKETCH).sum(0)
    return jnp.sqrt(jnp.sum(jnp.square(jax.lax.pmean(sums, _AXIS))))


def pack(blocks: jax.Array, *, bits: int) -> jax.Array:
    """[..., 64] floats as bytes: the mean size in bfloat16, signs, and which are large (2 bits)."""
    sizes = jnp.abs(blocks)
    scales = sizes.mean(-1).astype(jnp.bfloat16)
    planes = [blocks >= 0, sizes > _EDGE * scales.astype(jnp.float32)[..., None]][:bits]
    packed = [jnp.packbits(plane, axis=-1) for plane in planes]
    return jnp.concatenate([jax.lax.bitcast_convert_type(scales, jnp.uint8), *packed], -1)


def unpack(packed: jax.Array) -> jax.Array:
    """± a size of each block."""
    scales = jax.lax.bitcast_convert_type(packed[..., :2], jnp.bfloat16).astype(jnp.float32)
    bits = jnp.unpackbits(packed[..., 2:], axis=-1)
    found = jnp.where(bits[..., :_BLOCK] == 1, 1.0, -1.0) * scales[..., None]
    is_large = bits[..., _BLOCK:]
    return found * jnp.where(is_large == 1, _LARGE, _SMALL) if is_large.size else found
