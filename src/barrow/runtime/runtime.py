"""`Runtime`: what an existing training script needs to run on several devices or processes.

The script keeps its model, its optimizer and its loop. The runtime places the state and the batches
on a mesh and takes the gradient (precision, micro-batches, uneven batches); JAX compiles the rest
of the script's step for the same devices.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding

from barrow import launch
from barrow.checkpoint.read import open_checkpoint
from barrow.checkpoint.restore import restore
from barrow.checkpoint.snapshot import snapshot
from barrow.checkpoint.write import write_checkpoint
from barrow.errors import ConfigError
from barrow.files import local_path
from barrow.parallel import ZERO, make_mesh, watch, whole
from barrow.parallel.placement import Placement
from barrow.parallel.processes import open_peers
from barrow.plan.times import here
from barrow.runtime import parts
from barrow.runtime.batches import Batches, global_array, place_batch
from barrow.runtime.division import first_fit, values_of
from barrow.runtime.gradient import mean_and_gradient
from barrow.runtime.updates import foreign_update, mean_of, own_update
from barrow.train.loss_scale import LossScale
from barrow.train.objectives.objective import Objective
from barrow.train.precision import Name, Precision
from barrow.train.state import TrainState
from barrow.train.step import StepSettings

# Where the loss is not known, a state above this share of a device's memory is divided.
_SHARE = 0.4


class Runtime:
    """Devices, processes and precision of a script; make it before anything that uses devices.

    - `precision`: "fp32", "bf16", "fp16" or "fp8", of the gradient; the state keeps its types.
    - `plan`: "auto" divides the batch over all devices, and the state as far as it must be; or
      {"data": n, "fsdp": m, "zero": 0 to 3}, as in `barrow train`.
    - `accumulate`: micro-batches of a step. `seed`: see `Runtime.seed`; None seeds nothing.
    - `rows`: "global" if every process reads the same batches, of which it takes its rows;
      "process" if it reads rows of its own.
    """

    def __init__(
        self,
        *,
        precision: Literal["fp32", "bf16", "fp16", "fp8"] = "fp32",
        plan: Literal["auto"] | Mapping[str, int] = "auto",
        accumulate: int = 1,
        seed: int | None = None,
        rows: Literal["global", "process"] = "global",
    ) -> None:
        if precision not in get_args(Name):
            raise ConfigError(f"precision must be fp32, bf16, fp16 or fp8, got {precision!r}")
        if accumulate < 1:
            raise ConfigError(f"accumulate must be ≥ 1, got {accumulate}")
        if rows not in ("global", "process"):
            raise ConfigError(f'rows must be "global" or "process", got {rows!r}')
        self._is_open = isinstance(plan, str)
        axes: dict[str, Any] = {} if isinstance(plan, str) else dict(plan)
        if (self._is_open and plan != "auto") or set(axes) - {"data", "fsdp", "zero"}:
            raise ConfigError(f'plan must be "auto" or a dict of data, fsdp and zero, got {plan!r}')
        self.zero = axes.pop("zero", 3 if "fsdp" in axes else 0)
        if self.zero not in (0, 1, 2, 3):
            raise ConfigError(f"zero must be 0, 1, 2 or 3, got {self.zero}")
        self.world = launch.join()
        self.precision, self.accumulate, self.rows = Precision(precision), accumulate, rows
        self.mesh: Mesh = make_mesh(**axes)
        self._steps: dict[Any, Any] = {}
        self._scale: LossScale | None = None
        if self.precision.is_scaled:
            start = LossScale.start(self.precision.scale)
            self._scale = jax.tree.map(lambda x: self._put(x, whole(self.mesh)), start)
        if seed is not None:
            self.seed(seed)

    @property
    def is_main(self) -> bool:
        """Whether this is the first process."""
        return self.world.process == 0

    def print(self, *words: Any, **options: Any) -> None:
        """`print`, in the first process."""
        if self.is_main:
            print(*words, **options)  # noqa: T201 - what it is for

    def seed(self, seed: int, *, per_process: bool = False) -> jax.Array:
        """Seed random, NumPy and PyTorch (if it was imported); the result is a key for JAX.

        All processes get the same random numbers, or each its own.
        """
        key = jax.random.key(seed)
        if per_process:
            own = np.random.SeedSequence([seed, self.world.process])
            seed, key = int(own.generate_state(1)[0]), jax.random.fold_in(key, self.world.process)
        random.seed(seed)
        np.random.seed(seed % (1 << 32))
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(seed)
        return key

    def prepare(self, *things: Any, loss: Any = None) -> Any:
        """States on the devices; of several arguments the last is the loader of batches.

        A state is any pytree with arrays, or an object of flax.nnx, which is changed in place. A
        loader is any iterable of batches: pytrees of NumPy arrays or PyTorch tensors. With
        ``loss(model, batch)`` the automatic plan counts what a step of it needs, for the first
        batch; without, the state alone.
        """
        states, loader = (things, ()) if len(things) == 1 else (things[:-1], things[-1:])
        if self._is_open:
            self._is_open = False
            loader = self._divide(states, loader, loss)
        placed = [self._place_state(state) for state in states]
        placed += [Batches(one, self.mesh, self.world, self.rows) for one in loader]
        return placed[0] if len(placed) == 1 else tuple(placed)

    def batch(self, batch: Any) -> Any:
        """A batch on the devices: rows divided, or on each device where they are uneven."""
        return place_batch(batch, self.mesh, self.world, self.rows)

    def value_and_grad(self, loss: Callable[..., Any], *, has_aux: bool = False) -> Any:
        """As `jax.value_and_grad`, of ``loss(model, *batch)``: the mean over the rows of a batch.

        For a script's own step, inside of `jax.jit`. The model is any pytree; its arrays of
        floating point are differentiated. A loss that is not a mean over rows, as over the tokens
        of ragged rows, returns `train.Mean(total, weight)` to be exact with micro-batches.
        """
        if self._scale is not None:
            raise ConfigError(
                "fp16 must skip updates whose gradients overflow, which rt.step does; in a step of "
                "your own use bf16"
            )
        return self._gradient(loss, has_aux=has_aux)

    def step(
        self,
        loss: Callable[[Any, Any], Any] | Objective,
        state: Any,
        batch: Any,
        *,
        optimizer: optax.GradientTransformation | None = None,
        has_aux: bool = False,
    ) -> tuple[Any, dict[str, Any]]:
        """One update: (state, metrics), with ``loss(model, batch)``. The state given is consumed.

        A state is (model, state of the optimizer) or a `train.TrainState`, with `optimizer`; a
        TrainState of Flax; or (model, Optimizer) of flax.nnx, changed in place. Metrics are loss,
        grad_norm and aux; with fp16 also loss_scale, and skipped where the gradient overflowed.
        """
        batch, rest = self.batch(batch), parts.split(state, parts.is_array)[1]
        key = (loss, optimizer, has_aux, jax.tree.structure(rest), *jax.tree.leaves(rest))
        if key not in self._steps:
            self._steps[key] = self._compiled(loss, state, optimizer, has_aux=has_aux)
        step = self._steps[key]
        with watch.call("step"):
            if isinstance(state, TrainState):
                return step(state, batch)  # type: ignore[no-any-return]
            if parts.nnx_of(state) is not None:
                metrics, self._scale = step(state, batch, self._scale)
                return state, metrics
            arrays, metrics, self._scale = step(parts.arrays_of(state), batch, self._scale)
            return parts.with_arrays(state, arrays), metrics

    def gather_for_metrics(self, tree: Any) -> Any:
        """Arrays of devices whole, as NumPy, in every process: exactly the rows that there are."""

        def gather(x: Any) -> Any:
            if not isinstance(x, jax.Array) or x.is_fully_addressable or x.is_fully_replicated:
                return np.asarray(x)
            return multihost_utils.process_allgather(x, tiled=True)

        with watch.call("gather"):
            return jax.tree.map(gather, tree)

    def wait(self) -> None:
        """Return when every process has called this."""
        with watch.call("wait"):
            open_peers("runtime/wait").everyone("wait", lambda: None)

    def save(self, folder: str | os.PathLike[str], state: Any) -> None:
        """Write a checkpoint; every process calls this. One of that name is replaced."""
        where = local_path(folder)
        with watch.call("save"):
            held, peers = snapshot(self._kept(state)), open_peers(f"checkpoint/{where}/runtime")
            write_checkpoint(where, held, step=None, about={}, peers=peers)

    def load(self, folder: str | os.PathLike[str], state: Any) -> Any:
        """The state of a checkpoint, shaped and placed as a prepared `state`."""
        found = restore(open_checkpoint(local_path(folder)), self._kept(state))
        if self._scale is not None and not isinstance(state, TrainState):
            found, self._scale = found["state"], found["scale"]
        return parts.with_arrays(state, found)

    def _kept(self, state: Any) -> Any:
        """What a checkpoint has: the arrays of a state, and with fp16 the scale."""
        arrays = parts.arrays_of(state)
        has_own = self._scale is None or isinstance(state, TrainState)
        return arrays if has_own else {"state": arrays, "scale": self._scale}

    def _gradient(self, loss: Callable[..., Any], *, has_aux: bool) -> Any:
        if self.precision.name == "fp8":
            raise ConfigError(
                "fp8 needs rt.step with a train.TrainState, whose model multiplies through nn.dot"
            )

        def take(model: Any, *batch: Any, scale: Any = None) -> tuple[Any, Any]:
            params, carried, call, finish = parts.opened(model, loss, has_aux=has_aux)
            value, aux, grads, carried = mean_and_gradient(
                call,
                params,
                carried,
                batch,
                precision=self.precision,
                accumulate=self.accumulate,
                placement=self._placement(params),
                scale=scale,
            )
            finish(carried)
            return ((value, aux) if has_aux else value), grads

        return take

    def _compiled(self, loss: Any, state: Any, optimizer: Any, *, has_aux: bool) -> Any:
        if isinstance(state, TrainState):
            settings = StepSettings(self.precision, self.accumulate, clip=None)
            placement = self._placement(state.params)
            return own_update(loss, state, optimizer, settings, placement, has_aux=has_aux)
        take = self._gradient(loss, has_aux=has_aux)
        return foreign_update(take, state, optimizer, self.precision, has_aux=has_aux)

    def _divide(self, states: Any, loader: Any, loss: Any) -> Any:
        """Choose the mesh and the stage of ZeRO; the loader, whose first batch may be read."""
        divided, memory = make_mesh(data=1, fsdp=-1), _least_memory()
        size = sum(x.nbytes for state in states for x in jax.tree.leaves(parts.arrays_of(state)))
        if loss is None or not loader:
            self.zero = 3 if size > _SHARE * memory else 0
        else:
            first, loader = parts.first_of(loader[0])
            model, loss = parts.model_of(states[0]), mean_of(loss, states[0])
            params = parts.opened(model, loss, has_aux=False)[0]
            meshes = enumerate((self.mesh, divided, divided, divided))
            places = [self._placement(params, mesh, zero) for zero, mesh in meshes]
            how, num = self.precision, self.accumulate
            held = values_of(loss, model, first, self.mesh, num, how)
            self.zero = first_fit(params, size, held, places, how, memory, accumulate=num)
        self.mesh = divided if self.zero else self.mesh
        return loader

    def _placement(
        self, params: Any, mesh: Mesh | None = None, zero: int | None = None
    ) -> Placement:
        mesh = self.mesh if mesh is None else mesh
        axes = jax.tree.map(lambda x: _axes(x.shape, mesh), params)
        return Placement(mesh, ZERO[self.zero if zero is None else zero], axes)

    def _place_state(self, state: Any) -> Any:
        if isinstance(state, TrainState):
            if self.precision.is_scaled and state.scale is None:
                state = replace(state, scale=LossScale.start(self.precision.scale))
            places = self._placement(state.params).of_state(state)
            return jax.tree.map(self._put, state, places)
        masters = ZERO[self.zero].masters

        def place(x: Any) -> Any:
            spec = masters.spec(_axes(x.shape, self.mesh), x.shape, self.mesh)
            return self._put(x, NamedSharding(self.mesh, spec))

        return parts.with_arrays(state, jax.tree.map(place, parts.arrays_of(state)))

    def _put(self, x: Any, where: NamedSharding) -> Any:
        if jax.process_count() == 1:
            return jax.device_put(x, where)
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            bits = global_array(np.asarray(jax.random.key_data(x)), whole(self.mesh))
            return jax.random.wrap_key_data(bits, impl=jax.random.key_impl(x))
        return global_array(np.asarray(x), where)


def _least_memory() -> int:
    """Bytes of a device, the least of all processes: they must choose the same plan."""
    peers, own = open_peers("runtime/memory"), here().memory
    if peers.num == 1:
        return own
    peers.tell(str(peers.process), own)
    return min(int(peers.wait(str(number), number)) for number in range(peers.num))


def _axes(shape: tuple[int, ...], mesh: Mesh) -> tuple[str | None, ...]:
    """Names of dimensions for the rules: "embed" is divided, the largest that can be."""
    num = mesh.shape["fsdp"]
    sizes = [size if size % num == 0 else 0 for size in shape]
    return tuple("embed" if i == int(np.argmax(sizes)) else None for i in range(len(shape)))
