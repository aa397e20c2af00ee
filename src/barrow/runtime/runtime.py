"""`Runtime`: what an existing training script needs to run on several devices or processes.

The script keeps its model, its optimizer and its loop. The runtime places the state and the batches
on a mesh and takes the gradient (precision, micro-batches, uneven batches); JAX compiles the rest
of the script's step for the same devices.
"""

from __future__ import annotations

import os
import random
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

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
from barrow.parallel import ZERO, make_mesh, num_row_shards, whole
from barrow.parallel.placement import Placement
from barrow.parallel.processes import open_peers
from barrow.runtime import parts
from barrow.runtime.gradient import mean_and_gradient, num_rows
from barrow.runtime.parts import is_array
from barrow.train.objectives.objective import Objective
from barrow.train.precision import Precision
from barrow.train.state import TrainState
from barrow.train.step import StepSettings, make_step

_PLAN = ("data", "fsdp", "zero")
# State, gradients and activations: a state above this share of a device's memory is divided.
_SHARE = 0.4

Rows = Literal["global", "process"]


class Runtime:
    """Devices, processes and precision of a script; make it before anything that uses devices.

    - `precision`: "fp32" or "bf16"; parameters and their updates stay as they are.
    - `plan`: "auto" divides the batch over all devices, and the state too if it is large; or
      {"data": n, "fsdp": m, "zero": 0 to 3}, as in `barrow train`.
    - `accumulate`: micro-batches of a step. `seed`: see `Runtime.seed`; None seeds nothing.
    - `rows`: "global" if each process reads the same batches, of which it takes its rows;
      "process" if it reads rows of its own.
    """

    def __init__(
        self,
        *,
        precision: Literal["fp32", "bf16"] = "fp32",
        plan: Literal["auto"] | Mapping[str, int] = "auto",
        accumulate: int = 1,
        seed: int | None = None,
        rows: Rows = "global",
    ) -> None:
        if precision not in ("fp32", "bf16"):
            raise ConfigError(
                f'precision must be "fp32" or "bf16", got {precision!r}; fp16 and fp8 need '
                "barrow.train, whose state holds the loss scale"
            )
        if accumulate < 1:
            raise ConfigError(f"accumulate must be ≥ 1, got {accumulate}")
        if rows not in ("global", "process"):
            raise ConfigError(f'rows must be "global" or "process", got {rows!r}')
        self._is_open = plan == "auto"
        given = {} if isinstance(plan, str) else dict(plan)
        if (isinstance(plan, str) and plan != "auto") or set(given) - set(_PLAN):
            raise ConfigError(f'plan must be "auto" or a dict of data, fsdp, zero, got {plan!r}')
        if given.get("zero", 0) not in (0, 1, 2, 3):
            raise ConfigError(f"zero must be 0, 1, 2 or 3, got {given['zero']}")
        self.world = launch.join()
        self.precision, self.accumulate, self.rows = Precision(precision), accumulate, rows
        self._zero = given.pop("zero", 3 if given.get("fsdp", 1) != 1 else 0)
        self.mesh: Mesh = make_mesh(**given)
        self._steps: dict[Any, Any] = {}
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
        """Seed random, NumPy and PyTorch (if it was imported); the key is for JAX.

        All processes get the same random numbers, or each its own.
        """
        number = int(np.random.SeedSequence([seed, self.world.process]).generate_state(1)[0])
        number = number if per_process else seed
        random.seed(number)
        np.random.seed(number % (1 << 32))
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(number)
        key = jax.random.key(seed)
        return jax.random.fold_in(key, self.world.process) if per_process else key

    def prepare(self, *things: Any) -> Any:
        """Place states on the devices; of several arguments the last is the loader of batches.

        A state is any pytree with arrays, or an object of flax.nnx, which is changed in place. A
        loader is any iterable of batches: pytrees of NumPy arrays or PyTorch tensors.
        """
        states, loader = things[: len(things) - 1] or things, things[1:][-1:]
        if self._is_open:
            self._choose(states)
        placed = [self._placed(state) for state in states]
        placed += [self._loaded(one) for one in loader]
        return placed[0] if len(placed) == 1 else tuple(placed)

    def batch(self, batch: Any) -> Any:
        """One batch on the devices: its rows divided, or on every device if they are uneven."""
        if all(self._is_placed(x) for x in jax.tree.leaves(batch)):
            return batch
        host = jax.tree.map(lambda x: x if isinstance(x, str | bytes) else np.asarray(x), batch)
        num = num_rows(host)
        if self.rows == "process" and self.world.num > 1:
            return self._of_processes(host, num)
        is_even = num is not None and num % num_row_shards(self.mesh) == 0

        def place(x: Any) -> Any:
            if not is_array(x):
                return x
            where = self._over_rows() if is_even and x.ndim else whole(self.mesh)
            return jax.make_array_from_callback(x.shape, where, lambda index: x[index])

        return jax.tree.map(place, host)

    def value_and_grad(self, loss: Callable[..., Any], *, has_aux: bool = False) -> Any:
        """As `jax.value_and_grad`, of ``loss(model, *batch)``: the mean over the rows of a batch.

        For a script's own step, inside of `jax.jit`. The model is any pytree; its arrays of
        floating point are differentiated. A loss that is not a mean over rows, as over the tokens
        of ragged rows, returns `train.Mean(total, weight)` to be exact with micro-batches.
        """

        def take(model: Any, *batch: Any) -> tuple[Any, Any]:
            params, carried, call, finish = parts.opened(model, loss, has_aux=has_aux)
            value, aux, grads, carried = mean_and_gradient(
                call,
                params,
                carried,
                batch,
                precision=self.precision,
                accumulate=self.accumulate,
                placement=self._placement(params),
            )
            finish(carried)
            return ((value, aux) if has_aux else value), grads

        return take

    def step(
        self,
        loss: Any,
        state: Any,
        batch: Any,
        *,
        optimizer: optax.GradientTransformation | None = None,
        has_aux: bool = False,
    ) -> tuple[Any, Any]:
        """One update: (state, metrics), with ``loss(model, batch)``. The state given is consumed.

        A state is (model, optimizer's state), with `optimizer`; a TrainState of Flax; a pair of
        flax.nnx (model, Optimizer), which is changed in place; or a `train.TrainState` with an
        `Objective`. Metrics are the loss, the norm of the gradient, and aux.
        """
        batch = self.batch(batch)
        if isinstance(state, TrainState):
            return self._own_step(loss, state, batch, optimizer)  # type: ignore[no-any-return]
        arrays, rest = parts.arrays_of(state), parts.split(state, is_array)[1]
        key = (loss, optimizer, has_aux, jax.tree.structure(rest), *jax.tree.leaves(rest))
        if key not in self._steps:
            self._steps[key] = self._compiled(loss, optimizer, state, has_aux=has_aux)
        if parts.nnx_of(state) is not None:
            return state, self._steps[key](state, batch)
        arrays, metrics = self._steps[key](arrays, batch)
        return parts.with_arrays(state, arrays), metrics

    def gather_for_metrics(self, tree: Any) -> Any:
        """Arrays whole, as NumPy, in every process: exactly the rows there are."""

        def gather(x: Any) -> Any:
            if not isinstance(x, jax.Array):
                return x
            if x.is_fully_addressable or x.is_fully_replicated:
                return np.asarray(x)
            return multihost_utils.process_allgather(x, tiled=True)

        return jax.tree.map(gather, tree)

    def wait(self) -> None:
        """Return when every process has called this."""
        open_peers("runtime/wait").everyone("wait", lambda: None)

    def save(self, folder: str | os.PathLike[str], state: Any) -> None:
        """Write a checkpoint; every process calls this. One of that name is replaced."""
        where = local_path(folder)
        peers = open_peers(f"checkpoint/{where}/runtime")
        held = snapshot(parts.arrays_of(state))
        write_checkpoint(where, held, step=None, about={}, peers=peers)

    def load(self, folder: str | os.PathLike[str], state: Any) -> Any:
        """The state of a checkpoint, shaped and placed as `state`, on any devices."""
        found = restore(open_checkpoint(local_path(folder)), parts.arrays_of(state))
        return parts.with_arrays(state, found)

    def _choose(self, states: Any) -> None:
        self._is_open = False
        size = sum(x.nbytes for state in states for x in jax.tree.leaves(parts.arrays_of(state)))
        limit = (jax.local_devices()[0].memory_stats() or {}).get("bytes_limit")
        if limit is not None and size > _SHARE * limit and self.mesh.size > 1:
            self.mesh, self._zero = make_mesh(data=1, fsdp=-1), 3

    def _where(self, shape: tuple[int, ...]) -> NamedSharding:
        spec = ZERO[self._zero].masters.spec(self._axes(shape), shape, self.mesh)
        return NamedSharding(self.mesh, spec)

    def _axes(self, shape: tuple[int, ...]) -> tuple[str | None, ...]:
        """Names of dimensions: the largest that devices divide is what is divided."""
        parts = self.mesh.shape["fsdp"]
        sizes = [size if size % parts == 0 else 0 for size in shape]
        large = sizes.index(max(sizes)) if any(sizes) else None
        return tuple("embed" if dim == large else None for dim in range(len(shape)))

    def _placement(self, params: Any) -> Placement:
        axes = jax.tree.map(lambda x: self._axes(x.shape), params)
        return Placement(self.mesh, ZERO[self._zero], axes)

    def _placed(self, state: Any) -> Any:
        def place(x: Any) -> Any:
            if jax.process_count() == 1:
                return jax.device_put(x, self._where(x.shape))
            if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
                bits = place(jax.random.key_data(x))
                return jax.random.wrap_key_data(bits, impl=jax.random.key_impl(x))
            host = np.asarray(x)
            return jax.make_array_from_callback(host.shape, self._where(x.shape), lambda i: host[i])

        return parts.with_arrays(state, jax.tree.map(place, parts.arrays_of(state)))

    def _over_rows(self) -> NamedSharding:
        return Placement(self.mesh, ZERO[0], None).rows()  # type: ignore[no-any-return]

    def _is_placed(self, x: Any) -> bool:
        return isinstance(x, jax.Array) and x.sharding.device_set == set(self.mesh.devices.flat)

    def _loaded(self, loader: Iterable[Any]) -> Any:
        if hasattr(loader, "__next__"):
            return iter(_Loader(self, loader))
        return _Loader(self, loader)

    def _of_processes(self, host: Any, num: int | None) -> Any:
        local = num_row_shards(self.mesh) // self.world.num
        if num is None or num % local:
            raise ValueError(
                f"each process must give a multiple of {local} rows, got {num}; leave the last "
                'batch out (drop_last), or let each process read all rows: rows="global"'
            )
        rows = self._over_rows()
        return jax.tree.map(lambda x: jax.make_array_from_process_local_data(rows, x), host)

    def _compiled(self, loss: Any, optimizer: Any, state: Any, *, has_aux: bool) -> Any:
        take = self.value_and_grad(loss, has_aux=has_aux)
        nnx, is_flax = parts.nnx_of(state), hasattr(state, "apply_gradients")
        if nnx is None and not is_flax and optimizer is None:
            raise ValueError("pass optimizer=…, whose state this is; only states of Flax have one")

        def gradient(model: Any, batch: Any) -> tuple[Any, Any]:
            found, grads = take(model, batch)
            value, aux = found if has_aux else (found, {})
            metrics = {"loss": value, "grad_norm": optax.global_norm(grads)}
            return grads, metrics | (aux if isinstance(aux, dict) else {"aux": aux})

        def of_objects(state: Any, batch: Any) -> Any:
            model, updating = state
            grads, metrics = gradient(model, batch)
            updating.update(model, grads)
            return metrics

        def of_tree(arrays: Any, batch: Any) -> tuple[Any, Any]:
            given = parts.with_arrays(state, arrays)
            if is_flax:
                grads, metrics = gradient(given.params, batch)
                return given.apply_gradients(grads=grads), metrics
            model, before = given
            grads, metrics = gradient(model, batch)
            params, rest = parts.split(model, parts.is_trained)
            updates, after = optimizer.update(grads, before, params)
            model = parts.join(optax.apply_updates(params, updates), rest)
            return parts.arrays_of((model, after)), metrics

        return jax.jit(of_tree, donate_argnums=0) if nnx is None else nnx.jit(of_objects)

    def _own_step(self, objective: Any, state: TrainState, batch: Any, optimizer: Any) -> Any:
        if not isinstance(objective, Objective) or optimizer is None:
            raise ValueError("a train.TrainState needs an Objective and optimizer=…")
        key = (objective, optimizer)
        if key not in self._steps:
            settings = StepSettings(precision=self.precision, accumulate=self.accumulate)
            placement = self._placement(state.params)
            self._steps[key] = make_step(objective, optimizer, settings, placement=placement)
        return self._steps[key](state, batch)


class _Loader:
    """Batches of a loader, on the devices; the first is compared between processes."""

    def __init__(self, runtime: Runtime, loader: Iterable[Any]) -> None:
        self._runtime, self._loader = runtime, loader

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        for number, batch in enumerate(self._loader):
            if number == 0 and self._runtime.rows == "global":
                _agree(batch)
            yield self._runtime.batch(batch)


def _agree(batch: Any) -> None:
    """Raise in all processes unless they read the same batch."""
    arrays = [np.ascontiguousarray(x) for x in jax.tree.leaves(batch) if not isinstance(x, str)]
    words = "first batch; seed what shuffles it with Runtime(seed=…), or pass rows='process'"
    open_peers("runtime/batch").agree("rows", {words: [zlib.crc32(x) for x in arrays]})
