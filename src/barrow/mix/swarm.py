"""A swarm: proxies of one size, each on its own mixture of one store, in one compiled program.

All arrays of the state and of a batch have a leading proxy axis, and the step is that of `train`
under `jax.vmap`: a proxy in a swarm equals the same proxy trained alone. On several devices the
proxies are divided among them; nothing is exchanged.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from barrow import config
from barrow.ahead import available_cores
from barrow.checkpoint.checkpoints import Checkpoints
from barrow.errors import ConfigError
from barrow.interrupt import Interrupted, stop_on_signals
from barrow.mix.runs import Array
from barrow.nn.module import init_collections
from barrow.parallel import make_mesh, num_row_shards, rows_sharding, whole
from barrow.stream import Prefetch, Stream
from barrow.stream.store import Store
from barrow.train.objectives.causal import causal_objective
from barrow.train.run import Run, all_settings, token_settings
from barrow.train.state import TrainState
from barrow.train.step import init_state, pure_step
from barrow.train.tasks.causal import CausalTask
from barrow.train.tasks.task import task_of
from barrow.train.tasks.token_data import TokenData

_MOST_BAD = 3  # steps without a finite loss and gradient that a proxy may have
_IN_FLIGHT = 2  # steps that are dispatched before the result of one is awaited
_LOADERS = 4  # threads that make batches, at most

Mixture = Mapping[str, float]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SwarmState:
    """`proxies` is a state whose arrays have a leading proxy axis; `bad` counts, by proxy, the
    steps whose loss or gradient was not finite: they changed no parameter.
    """

    step: jax.Array
    proxies: TrainState
    bad: jax.Array


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained swarm: `params` with a leading proxy axis, `losses` by logged step and proxy, and
    why a proxy diverged, or None.
    """

    params: Any
    losses: Array
    diverged: tuple[str | None, ...]


class Swarm:
    """The proxies of `run`, one for each mixture of the domains of its store."""

    def __init__(
        self, run: Run, mixtures: Sequence[Mixture], *, store: Store | None = None
    ) -> None:
        task = task_of(run)
        if not isinstance(task, CausalTask):
            raise ConfigError("a swarm trains causal language models; use a decoder as the model")
        if jax.process_count() > 1:
            raise ConfigError(f"a swarm runs in one process, got {jax.process_count()}")
        settings = token_settings(run.data)
        store = settings.open(run.store).store if store is None else store
        self.run, self.mixtures, self.store = run, [dict(mixture) for mixture in mixtures], store
        self._data = [
            TokenData(
                Stream(replace(settings, weights=mixture).open(store)), task.config.vocab_size
            )
            for mixture in self.mixtures
        ]
        mesh = make_mesh()
        parts = num_row_shards(mesh)
        # The last proxy fills up the devices, and its copies are dropped.
        self._num_padded = -(-len(mixtures) // parts) * parts
        self._rows = rows_sharding(mesh)
        model = mapped_model(task.model)
        self._optimizer = task.optimizer()
        self._task = task
        one = jax.eval_shape(self._start_one)
        self.shapes = jax.eval_shape(self._repeat, one)
        places: Any = (whole(mesh), jax.tree.map(lambda _: self._rows, one), self._rows)
        self.shardings = SwarmState(*places)
        objective = causal_objective(model, mask_documents=run.mask_documents)
        step = over_proxies(pure_step(objective, self._optimizer, run.step))

        def advance(state: SwarmState, batch: Any) -> tuple[SwarmState, jax.Array]:
            proxies, metrics = step(state.proxies, batch)
            bad = state.bad + (metrics.bad_tensor != -1)
            return SwarmState(state.step + 1, proxies, bad), metrics.loss.value

        self.advance: Callable[[SwarmState, Any], tuple[SwarmState, jax.Array]] = jax.jit(
            advance, donate_argnums=0, out_shardings=(self.shardings, self._rows)
        )

    def __len__(self) -> int:
        return len(self.mixtures)

    def start(self) -> SwarmState:
        """All proxies with the same initial parameters: those of the run's seed."""
        repeat = jax.jit(self._repeat, out_shardings=self.shardings)
        return cast("SwarmState", repeat(self._start_one()))

    def feed(self, start: int = 0, stop: int | None = None) -> Prefetch[dict[str, jax.Array]]:
        """(step, batches of all proxies on the devices) from a step on."""
        threads = max(1, min(_LOADERS, available_cores() // 2))
        return Prefetch(self._place, start=start, stop=stop, depth=2 * threads, threads=threads)

    def batches(self, step: int) -> dict[str, np.ndarray[Any, Any]]:
        """The batches of a step by name, with a leading proxy axis."""
        parts = [data.batch(step).arrays() for data in self._data]
        parts += parts[-1:] * (self._num_padded - len(parts))
        return {name: np.stack([part[name] for part in parts]) for name in parts[0]}

    def identity(self) -> dict[str, Any]:
        """What must be the same to resume."""
        settings = config.to_dict(all_settings(replace(self.run, store="")))
        return {"run": settings, "mixtures": self.mixtures, "store": self.store.identity}

    def _place(self, step: int) -> dict[str, jax.Array]:
        return {n: jax.device_put(array, self._rows) for n, array in self.batches(step).items()}

    def _start_one(self) -> TrainState:
        model, example = self._task.model, self._task.example
        return init_state(
            lambda key: model.init(key, *example),
            self._optimizer,
            self.run.step,
            jax.random.key(self.run.seed),
            collections=init_collections(model, *example),
        )

    def _repeat(self, one: TrainState) -> SwarmState:
        num = self._num_padded
        all_of_them = jax.tree.map(lambda x: jnp.broadcast_to(x, (num, *x.shape)), one)
        return SwarmState(jnp.int32(0), all_of_them, jnp.zeros(num, jnp.int32))


def over_proxies(function: Callable[..., Any], *, num_shared: int = 0) -> Callable[..., Any]:
    """The function for all proxies: arguments but the last `num_shared` have a leading proxy axis.

    On CPUs, where products with one more axis are slow, the proxies of a device follow one another.
    """

    def on_a_device(*arguments: Any) -> Any:
        num_own = len(arguments) - num_shared

        def one(own: tuple[Any, ...]) -> Any:
            return function(*own, *arguments[num_own:])

        return (jax.lax.map if in_turn() else _mapped)(one, arguments[:num_own])

    def on_all(*arguments: Any) -> Any:
        mesh = make_mesh()
        if num_row_shards(mesh) == 1:
            return on_a_device(*arguments)
        own = rows_sharding(mesh).spec
        specs = (own,) * (len(arguments) - num_shared) + (whole(mesh).spec,) * num_shared
        call = jax.shard_map(on_a_device, mesh=mesh, in_specs=specs, out_specs=own, check_vma=False)
        return call(*arguments)

    return on_all


def in_turn() -> bool:
    """Whether the proxies of a device follow one another."""
    return jax.default_backend() == "cpu"


def use_all_cores() -> None:
    """Make every core of a CPU a device, for proxies that follow one another; call it first.

    Nothing changes if JAX runs already, or if its flags say how many devices there are.
    """
    if "device_count" not in os.environ.get("XLA_FLAGS", ""):
        with contextlib.suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", available_cores())  # type: ignore[no-untyped-call]


def _mapped(function: Callable[[Any], Any], own: Any) -> Any:
    return jax.vmap(function)(own)


def mapped_model(model: Any) -> Any:
    """The model for a program that is mapped over proxies."""
    return replace(model, backend="mapped") if hasattr(model, "backend") else model


def train_swarm(
    swarm: Swarm, folder: Path, *, on_step: Callable[[int], None] | None = None
) -> Trained:
    """Train a swarm; checkpoints go to `folder`, from which it resumes exactly."""
    run = swarm.run
    checkpoints = Checkpoints(folder, keep_last=1)
    about: dict[str, Any] = {"swarm": swarm.identity(), "losses": []}
    start = checkpoints.to_resume() or 0
    if start:
        found = checkpoints.about(start)
        if found.get("swarm") != config.to_dict(about["swarm"]):
            raise ConfigError(f"{folder} has a swarm with other settings: remove it to start again")
        about["losses"] = found["losses"]
        state = checkpoints.restore(start, swarm.shapes, shardings=swarm.shardings)
    else:
        state = swarm.start()
    flying: deque[jax.Array] = deque()
    with stop_on_signals() as stop, checkpoints, swarm.feed(start, run.steps) as batches:
        for step, batch in batches:
            state, loss = swarm.advance(state, batch)
            flying.append(loss)
            done = step + 1
            is_last = done == run.steps
            if step % run.log_every == 0 or is_last:
                about["losses"].append([_number(x) for x in np.asarray(loss)[: len(swarm)]])
            elif len(flying) > _IN_FLIGHT:
                flying.popleft().block_until_ready()
            if on_step is not None:
                on_step(done)
            is_stopped, every = stop.asked, run.checkpoint.every
            if not is_last and (is_stopped or (every is not None and done % every == 0)):
                checkpoints.save(state, about)
            if not is_last and is_stopped:
                checkpoints.wait()
                raise Interrupted(f"stopped after step {step}, {run.steps - done} left; saved")
    losses = np.array(about["losses"], np.float64)
    bad = np.asarray(state.bad)
    reasons = [_diverged(losses[:, k], int(bad[k])) for k in range(len(swarm))]
    return Trained(state.proxies.params, losses, tuple(reasons))


def _number(value: Any) -> float | None:
    """As JSON has it."""
    return float(value) if math.isfinite(value) else None


def _diverged(losses: Array, bad: int) -> str | None:
    if bad >= _MOST_BAD:
        return f"{bad} steps had a loss or gradient that is not finite"
    if not np.isfinite(losses[-1]):
        return "the last loss is not finite"
    if losses[-1] > losses[0]:
        return f"the loss rose from {losses[0]:.3f} to {losses[-1]:.3f} nats per token"
    return None
