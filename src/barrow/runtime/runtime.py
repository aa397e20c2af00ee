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
from barrow.parallel import ZERO, make_mesh, num_row_shards, rows_sharding, watch, whole
from barrow.parallel.placement import Placement
from barrow.parallel.processes import open_peers
from barrow.runtime import parts
from barrow.runtime.gradient import mean_and_gradient, num_rows
from barrow.train.precision import Precision

# A state above this share of a device's memory is divided: gradients and activations need the rest.
_SHARE = 0.4


class Runtime:
    """Devices, processes and precision of a script; make it before anything that uses devices.

    - `precision`: "fp32" or "bf16", of the gradient; the state keeps its types.
    - `plan`: "auto" divides the batch over all devices, and the state too if it is large; or
      {"data": n, "fsdp": m, "zero": 0 to 3}, as in `barrow train`.
    - `accumulate`: micro-batches of a step. `seed`: see `Runtime.seed`; None seeds nothing.
    - `rows`: "global" if every process reads the same batches, of which it takes its rows;
      "process" if it reads rows of its own.
    """

    def __init__(
        self,
        *,
        precision: Literal["fp32", "bf16"] = "fp32",
        plan: Literal["auto"] | Mapping[str, int] = "auto",
        accumulate: int = 1,
        seed: int | None = None,
        rows: Literal["global", "process"] = "global",
    ) -> None:
        if precision not in ("fp32", "bf16"):
            raise ConfigError(
                f'precision must be "fp32" or "bf16", got {precision!r}; fp16 and fp8 need the '
                "state of barrow.train"
            )
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

    def prepare(self, *things: Any) -> Any:
        """States on the devices; of several arguments the last is the loader of batches.

        A state is any pytree with arrays, or an object of flax.nnx, which is changed in place. A
        loader is any iterable of batches: pytrees of NumPy arrays or PyTorch tensors.
        """
        states, loader = (things, ()) if len(things) == 1 else (things[:-1], things[-1:])
        arrays = [parts.arrays_of(state) for state in states]
        if self._is_open:
            self._is_open = False
            size = sum(x.nbytes for x in jax.tree.leaves(arrays))
            memory = (jax.local_devices()[0].memory_stats() or {}).get("bytes_limit")
            if memory is not None and size > _SHARE * memory:
                self.mesh, self.zero = make_mesh(data=1, fsdp=-1), 3
        placed = [
            parts.with_arrays(state, jax.tree.map(self._placed, of_state))
            for state, of_state in zip(states, arrays, strict=True)
        ]
        placed += [_Loader(self, one) for one in loader]
        return placed[0] if len(placed) == 1 else tuple(placed)

    def batch(self, batch: Any) -> Any:
        """A batch on the devices: rows divided, or on each device where they are uneven."""
        devices = set(self.mesh.devices.flat)
        leaves = jax.tree.leaves(batch)
        if all(isinstance(x, jax.Array) and x.sharding.device_set == devices for x in leaves):
            return batch
        host = jax.tree.map(lambda x: x if isinstance(x, str) else np.asarray(x), batch)
        num, shards, rows = num_rows(host), num_row_shards(self.mesh), rows_sharding(self.mesh)
        if self.rows == "process" and self.world.num > 1:
            if num is None or num * self.world.num % shards:
                raise ValueError(
                    f"each process must give a multiple of {shards // self.world.num} rows, got "
                    f'{num}: drop the last batch, or pass rows="global"'
                )
            return jax.tree.map(lambda x: jax.make_array_from_process_local_data(rows, x), host)

        def place(x: Any) -> Any:
            if isinstance(x, str):
                return x
            is_even = x.ndim > 0 and x.shape[0] % shards == 0
            return _global(x, rows if is_even else whole(self.mesh))

        return jax.tree.map(place, host)

    def value_and_grad(self, loss: Callable[..., Any], *, has_aux: bool = False) -> Any:
        """As `jax.value_and_grad`, of ``loss(model, *batch)``: the mean over the rows of a batch.

        For a script's own step, inside of `jax.jit`. The model is any pytree; its arrays of
        floating point are differentiated. A loss that is not a mean over rows, as over the tokens
        of ragged rows, returns `train.Mean(total, weight)` to be exact with micro-batches.
        """

        def take(model: Any, *batch: Any) -> tuple[Any, Any]:
            params, carried, call, finish = parts.opened(model, loss, has_aux=has_aux)
            axes = jax.tree.map(lambda x: self._axes(x.shape), params)
            value, aux, grads, carried = mean_and_gradient(
                call,
                params,
                carried,
                batch,
                precision=self.precision,
                accumulate=self.accumulate,
                placement=Placement(self.mesh, ZERO[self.zero], axes),
            )
            finish(carried)
            return ((value, aux) if has_aux else value), grads

        return take

    def step(
        self,
        loss: Callable[[Any, Any], Any],
        state: Any,
        batch: Any,
        *,
        optimizer: optax.GradientTransformation | None = None,
        has_aux: bool = False,
    ) -> tuple[Any, dict[str, Any]]:
        """One update: (state, metrics), with ``loss(model, batch)``. The state given is consumed.

        A state is (model, state of the optimizer), with `optimizer`; a TrainState of Flax; or
        (model, Optimizer) of flax.nnx, changed in place. Metrics are loss, grad_norm and aux.
        """
        batch, rest = self.batch(batch), parts.split(state, parts.is_array)[1]
        key = (loss, optimizer, has_aux, jax.tree.structure(rest), *jax.tree.leaves(rest))
        if key not in self._steps:
            self._steps[key] = self._compiled(loss, state, optimizer, has_aux=has_aux)
        with watch.call("step"):
            if parts.nnx_of(state) is not None:
                return state, self._steps[key](state, batch)
            arrays, metrics = self._steps[key](parts.arrays_of(state), batch)
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
            held, peers = (
                snapshot(parts.arrays_of(state)),
                open_peers(f"checkpoint/{where}/runtime"),
            )
            write_checkpoint(where, held, step=None, about={}, peers=peers)

    def load(self, folder: str | os.PathLike[str], state: Any) -> Any:
        """The state of a checkpoint, shaped and placed as a prepared `state`."""
        found = restore(open_checkpoint(local_path(folder)), parts.arrays_of(state))
        return parts.with_arrays(state, found)

    def _axes(self, shape: tuple[int, ...]) -> tuple[str | None, ...]:
        """Names of dimensions for the rules: "embed" is divided, the largest that can be."""
        num = self.mesh.shape["fsdp"]
        sizes = [size if size % num == 0 else 0 for size in shape]
        return tuple("embed" if i == int(np.argmax(sizes)) else None for i in range(len(shape)))

    def _placed(self, x: Any) -> Any:
        spec = ZERO[self.zero].masters.spec(self._axes(x.shape), x.shape, self.mesh)
        where = NamedSharding(self.mesh, spec)
        if jax.process_count() == 1:
            return jax.device_put(x, where)
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            bits = _global(np.asarray(jax.random.key_data(x)), whole(self.mesh))
            return jax.random.wrap_key_data(bits, impl=jax.random.key_impl(x))
        return _global(np.asarray(x), where)

    def _compiled(self, loss: Any, state: Any, optimizer: Any, *, has_aux: bool) -> Any:
        take = self.value_and_grad(loss, has_aux=has_aux)
        nnx, is_flax = parts.nnx_of(state), hasattr(state, "apply_gradients")
        if nnx is None and not is_flax and optimizer is None:
            raise ValueError("pass optimizer=…, whose state this is; only states of Flax have one")

        def gradient(model: Any, batch: Any) -> tuple[Any, Any]:
            found, grads = take(model, batch)
            value, aux = found if has_aux else (found, {})
            squares = [jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)]
            metrics = {"loss": value, "grad_norm": jnp.sqrt(sum(squares))}
            return grads, metrics | (aux if isinstance(aux, dict) else {"aux": aux})

        def of_objects(pair: Any, batch: Any) -> Any:
            grads, metrics = gradient(pair[0], batch)
            pair[1].update(pair[0], grads)
            return metrics

        def of_tree(arrays: Any, batch: Any) -> tuple[Any, Any]:
            given = parts.with_arrays(state, arrays)
            if is_flax:
                grads, metrics = gradient(given.params, batch)
                return given.apply_gradients(grads=grads), metrics
            grads, metrics = gradient(given[0], batch)
            params, rest = parts.split(given[0], parts.is_trained)
            updates, after = optimizer.update(grads, given[1], params)
            model = parts.join(optax.apply_updates(params, updates), rest)
            return parts.arrays_of((model, after)), metrics

        return jax.jit(of_tree, donate_argnums=0) if nnx is None else nnx.jit(of_objects)


class _Loader:
    """Batches of a loader, on the devices; the first is compared between processes."""

    def __init__(self, runtime: Runtime, loader: Iterable[Any]) -> None:
        self._runtime, self._loader = runtime, loader

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        words = "first batch; seed what shuffles it: Runtime(seed=…), or pass rows='process'"
        with watch.busy("loading"):  # between batches
            for number, batch in enumerate(self._loader):
                if number == 0 and self._runtime.rows == "global":
                    arrays = [
                        np.asarray(x) for x in jax.tree.leaves(batch) if not isinstance(x, str)
                    ]
                    sums = [zlib.crc32(x.tobytes()) for x in arrays]
                    open_peers("runtime/batch").agree("rows", {words: sums})
                with watch.call("batch", step=number):  # what is done with it needs the others
                    yield self._runtime.batch(batch)


def _global(x: Any, where: NamedSharding) -> jax.Array:
    return jax.make_array_from_callback(x.shape, where, lambda index: x[index])
