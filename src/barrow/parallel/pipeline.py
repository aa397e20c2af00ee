"""The circular pipeline: groups of layers on different devices, micro-batches through all of them.

Layers are divided into rounds × stages groups of neighbours, and group g is on stage g mod stages.
In every iteration all stages compute at once, each with its own micro-batch, and pass the result to
the next stage; the last one passes it to the first, for the next round. Stage s is s iterations
late, so of rounds · micro_batches + stages − 1 iterations stages − 1 are without work in each
stage: the bubble.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax import lax

STAGE = "stage"


@dataclass(frozen=True)
class Schedule:
    """How many micro-batches go through how many stages, how often."""

    stages: int
    micro_batches: int
    rounds: int = 1

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"rounds must be ≥ 1, got {self.rounds}")
        if self.micro_batches < self.stages:
            raise ValueError(
                f"a pipeline of {self.stages} stages needs as many micro-batches or more, got "
                f"{self.micro_batches}"
            )

    @property
    def iterations(self) -> int:
        """Iterations of the loop."""
        return self.rounds * self.micro_batches + self.stages - 1

    @property
    def bubble(self) -> float:
        """The share of iterations in which a stage has no work."""
        return (self.stages - 1) / self.iterations

    def __str__(self) -> str:
        rounds = f", {self.rounds} rounds" if self.rounds > 1 else ""
        return (
            f"pipeline: {self.stages} stages, {self.micro_batches} micro-batches{rounds}, "
            f"bubble {self.bubble:.0%}"
        )


def schedule_of(
    rows: int, stages: int, *, parts: int, micro_batches: int | None = None, rounds: int = 1
) -> Schedule:
    """The schedule of a batch whose micro-batches are divided into `parts` each.

    Without a number: twice as many micro-batches as stages, or as many, if rows do not suffice.
    """
    wanted = (micro_batches,) if micro_batches is not None else (2 * stages, stages)
    for num in wanted:
        if rows and rows % (num * parts) == 0:
            return Schedule(stages, num, rounds)
    fits = [n for n in range(stages, rows // parts + 1) if rows % (n * parts) == 0]
    raise ValueError(
        f"{rows} rows cannot be divided into {wanted[-1]} micro-batches of a pipeline, each over "
        f"{parts} devices: "
        + (f"micro_batches may be {', '.join(map(str, fits))}; or " if fits else "")
        + f"pass a multiple of {wanted[-1] * parts} rows"
    )


class Place(Protocol):
    """Shards an array by the names of its first dimensions: stage, batch, or None for whole."""

    def __call__(self, x: jax.Array, *names: str | None) -> jax.Array:
        """x, sharded."""


# (a group's layers, x, shared, the micro-batch's number) → (x after these layers, their outputs)
Group = Callable[[Any, Any, Any, jax.Array], tuple[Any, Any]]


def in_stages(
    schedule: Schedule, group: Group, layers: Any, x: Any, shared: Any, place: Place
) -> tuple[Any, Any]:
    """X after all layers, and the outputs of each.

    Arrays of `layers` and outputs have a leading dimension for them. Arrays of x, `shared` and of
    one layer's outputs have the rows of the batch first; one row in `shared` is for all.
    """
    stages, num, rounds = schedule.stages, schedule.micro_batches, schedule.rounds
    rows: int = jax.tree.leaves(x)[0].shape[0]

    def grouped(a: jax.Array) -> jax.Array:
        # Layers of a group before stages, as a mapped `scan` over them takes them: no copies.
        a = jnp.moveaxis(a.reshape(rounds, stages, -1, *a.shape[1:]), 1, 2)
        return place(a, None, None, STAGE)

    def cut(a: jax.Array) -> jax.Array:
        # Row r goes to micro-batch r mod n, so each is spread over all devices.
        return place(jnp.moveaxis(a.reshape(rows // num, num, *a.shape[1:]), 1, 0), None, "batch")

    def moving(a: jax.Array) -> jax.Array:
        return place(a, STAGE, "batch")

    leaves, structure = jax.tree.flatten(shared)
    own = [i for i, a in enumerate(leaves) if a.shape[0] == rows]
    assert all(leaves[i].shape[0] == 1 for i in range(len(leaves)) if i not in own)
    pieces = [cut(leaves[i]) for i in own]
    layers, inputs = jax.tree.map(grouped, layers), jax.tree.map(cut, x)

    def one(layers: Any, x: Any, pieces: list[jax.Array], number: jax.Array) -> tuple[Any, Any]:
        mine = dict(zip(own, pieces, strict=True))
        both = [mine.get(i, a) for i, a in enumerate(leaves)]
        return group(layers, x, jax.tree.unflatten(structure, both), number)

    def iterate(held: tuple[Any, Any], now: jax.Array) -> tuple[tuple[Any, Any], Any]:
        x, waiting = held
        turn = now - jnp.arange(stages)  # micro-batches before this one, in all rounds
        number, into = turn % num, (now - stages + 1) % num
        given = [moving(a[number]) for a in pieces]
        run = jax.vmap(one, in_axes=(1, 0, 0, 0), spmd_axis_name=STAGE)
        x, outs = _in_round(run, layers, turn // num, x, given, number)
        x = jax.tree.map(lambda a: moving(jnp.roll(a, 1, axis=0)), x)

        def put(held: jax.Array, new: jax.Array) -> jax.Array:
            new = jnp.where(now >= stages - 1, new, held[:, into])
            return place(held.at[:, into].set(new), STAGE, None, "batch")

        def take(held: jax.Array, new: jax.Array) -> jax.Array:
            is_first = (jnp.arange(stages) == 0).reshape(-1, *(1,) * (new.ndim - 1))
            return moving(jnp.where(is_first, held[:, (now + 1) % num], new))

        waiting = jax.tree.map(put, waiting, x)
        return (jax.tree.map(take, waiting, x), waiting), outs

    # What waits for the first stage: only its own entry is used, but so none moves to another. The
    # other stages start with rows of the batch, whose results are not used.
    first = jax.tree.map(lambda a: moving(a[:stages]), inputs)
    waiting = jax.tree.map(
        lambda a: place(jnp.broadcast_to(a, (stages, *a.shape)), STAGE, None, "batch"), inputs
    )
    (_, waiting), outs = lax.scan(iterate, (first, waiting), jnp.arange(schedule.iterations))

    def joined(a: jax.Array) -> jax.Array:
        return jnp.moveaxis(place(a[0], None, "batch"), 0, 1).reshape(rows, *a.shape[3:])

    def of_layers(a: jax.Array) -> jax.Array:
        """Of outputs [iterations, stages, layers of a group, rows, …], those of real work."""
        if a.shape[3:4] != (rows // num,):
            raise ValueError(
                "what a layer of a pipeline returns must have the rows of the batch first, got "
                f"the shape {a.shape[3:]}; use a mesh of one stage"
            )
        real = jax.vmap(
            lambda own, late: lax.dynamic_slice_in_dim(own, late, rounds * num),
            in_axes=(1, 0),
            out_axes=1,
        )(a, jnp.arange(stages))
        real = jnp.moveaxis(real.reshape(rounds, num, *real.shape[1:]), 1, 4)
        return real.reshape(-1, rows, *real.shape[5:])

    return jax.tree.map(joined, waiting), jax.tree.map(of_layers, outs)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _in_round(run: Callable[..., Any], layers: Any, turn: jax.Array, *args: Any) -> Any:
    """``run(layers of each stage's round, *args)``.

    The backward pass takes these layers again: the loop would keep a copy for each iteration.
    """
    return run(_of_round(layers, turn), *args)


def _forward(run: Callable[..., Any], layers: Any, turn: jax.Array, *args: Any) -> tuple[Any, Any]:
    back: Any
    out, back = jax.vjp(run, _of_round(layers, turn), *args)
    back.args_res[0] = None
    return out, (back, layers, turn)


def _backward(run: Callable[..., Any], kept: Any, above: Any) -> tuple[Any, ...]:
    del run
    back, layers, turn = kept
    own, of_layers = jax.vjp(lambda layers: _of_round(layers, turn), layers)
    back.args_res[0] = own
    of_own, *of_args = back(above)
    return (*of_layers(of_own), None, *of_args)


_in_round.defvjp(_forward, _backward)


def _of_round(layers: Any, number: jax.Array) -> Any:
    """Of arrays [rounds, layers of a group, stages, …], those of each stage's round."""

    def pick(a: jax.Array) -> Any:
        if a.shape[0] == 1:
            return a[0]
        each = jax.vmap(lambda own, i: own[i], in_axes=(2, 0), out_axes=1)
        return each(a, number.clip(0, a.shape[0] - 1))

    return jax.tree.map(pick, layers)
