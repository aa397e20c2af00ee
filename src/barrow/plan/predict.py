"""The memory of a plan: arrays exactly, from shapes and rules; activations by a formula, or exactly
by compiling the step for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, cast

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding

from barrow.models.clip.config import ClipConfig
from barrow.nn.cross_entropy import HELD
from barrow.nn.flops import flops_of
from barrow.nn.module import axes, init_collections
from barrow.parallel import AXES, ZERO, fitted, num_row_shards, shardings
from barrow.parallel.placement import Placement
from barrow.plan.liveness import Peak, peak
from barrow.train.objectives.objective import Objective
from barrow.train.program import Program
from barrow.train.run import MeshSettings, Remat, Run
from barrow.train.step import init_state
from barrow.train.tasks.task import task_of

_shape: Any = jax.ShapeDtypeStruct
# Names of dimensions that `tensor` divides.
_TENSOR = ("heads", "kv_heads", "mlp", "vocab")


@dataclass(frozen=True)
class Plan:
    """How a run is divided: the mesh, micro-batches of a step, and what is recomputed."""

    mesh: MeshSettings
    accumulate: int = 1
    remat: Remat = "none"

    @classmethod
    def of(cls, run: Run, devices: int) -> Plan:
        """The settings of a run, on so many devices."""
        sizes = {axis: getattr(run.mesh, axis) for axis in AXES}
        known = math.prod(size for size in sizes.values() if size != -1)
        full = {axis: max(devices // known, 1) if n == -1 else n for axis, n in sizes.items()}
        return cls(replace(run.mesh, **full), run.step.accumulate, run.remat)

    def applied(self, run: Run) -> Run:
        """The run, divided so."""
        step = replace(run.step, accumulate=self.accumulate)
        return replace(run, mesh=self.mesh, step=step, remat=self.remat)

    @property
    def abstract(self) -> Any:
        """The mesh without devices."""
        return AbstractMesh(tuple(getattr(self.mesh, axis) for axis in AXES), AXES)

    def __str__(self) -> str:
        sizes = [f"{axis}={n}" for axis in AXES if (n := getattr(self.mesh, axis)) > 1]
        words = sizes or ["one device"]
        if self.mesh.zero:
            words.append(f"zero={self.mesh.zero}")
        if self.mesh.offload != "none":
            words.append(f"offload={self.mesh.offload}")
        if self.accumulate > 1:
            words.append(f"accumulate={self.accumulate}")
        if self.remat != "none":
            words.append(f"remat={self.remat}")
        return " ".join(words)


@dataclass(frozen=True)
class Memory:
    """Bytes of one device, by kind.

    - `parameters`: masters, and the copy that a step computes with where there is one;
      `optimizer`: its state and averages; `gradients`.
    - `activations`: the batch, and what the forward pass keeps for the backward pass;
      `temporaries`: what else exists at the moment that needs most.
    - `is_compiled`: whether the compiler said so; else activations and temporaries are a formula's.
    """

    parameters: int
    gradients: int
    optimizer: int
    activations: int
    temporaries: int
    is_compiled: bool = False

    @property
    def total(self) -> int:
        """All kinds."""
        return sum(self.by_kind.values())

    @property
    def by_kind(self) -> dict[str, int]:
        """Bytes by name."""
        found = asdict(self)
        del found["is_compiled"]
        return found


@dataclass(frozen=True)
class Arrays:
    """Bytes of one device that are certain: masters, their copy, both kinds of gradients, state."""

    masters: int
    copy: int
    gradients: int
    sums: int
    optimizer: int


class Subject:
    """What is known about a run before it is divided: shapes, names of dimensions, operations.

    With `is_fused` the devices have a kernel for attention, so that its scores never exist.
    """

    def __init__(self, run: Run, *, is_fused: bool = False) -> None:
        self.run, self.task, self.is_fused = run, task_of(run), is_fused
        model, example = self.task.model, self.task.example
        self.axes = axes(model, *example)
        collections = init_collections(model, *example)
        self.state = jax.eval_shape(
            lambda key: init_state(
                lambda key: model.init(key, *example),
                self.task.optimizer(),
                run.step,
                key,
                collections=collections,
            ),
            jax.random.key(0),
        )
        self.used = jax.eval_shape(run.step.precision.cast, self.state.params)
        self._known: dict[Any, Any] = {}

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    @property
    def batch(self) -> int:
        """Rows of the largest global batch."""
        return max(self.run.batches)

    @cached_property
    def is_split(self) -> bool:
        """Whether a batch may be divided into micro-batches."""
        return self._objective("none").is_sum_over_rows

    @cached_property
    def sizes(self) -> Mapping[str, set[int]]:
        """Sizes of the parameters' dimensions, by their names."""
        found: dict[str, set[int]] = {}

        def note(leaf: Any, names: tuple[str | None, ...]) -> None:
            for name, size in zip(names, leaf.shape, strict=True):
                found.setdefault(str(name), set()).add(size)

        jax.tree.map(note, self.state.params, self.axes)
        return found

    def batch_shapes(self, rows: int) -> dict[str, Any]:
        """A batch of so many rows, without its numbers."""
        if not self.run.has_rows_of_tokens:
            model = cast("ClipConfig", self.run.model)
            side, length = model.image.resolution, model.text.context
            images, texts = (rows, side, side, 3), (rows, length)
            return {
                "images": _shape(images, jnp.uint8),
                "texts": _shape(texts, jnp.int32),
                "mask": _shape((rows,), jnp.bool_),
            }
        names = ("tokens", "targets", "segments", "positions")
        size = rows, self.run.seq_len
        return dict.fromkeys(names, _shape(size, jnp.int32)) | {"mask": _shape(size, jnp.bool_)}

    def arrays(self, mesh: MeshSettings) -> Arrays:
        """What is certain, of one device of a mesh."""
        return cast("Arrays", self._once(mesh, lambda: self._arrays(Plan(mesh))))

    def _arrays(self, plan: Plan) -> Arrays:
        mesh, zero = plan.abstract, ZERO[plan.mesh.zero]
        placement = Placement(mesh, zero, self.axes, plan.mesh.offload)
        places = placement.of_state(self.state, kept=True)
        masters = _bytes(self.state.params, places.params)
        in_use = _bytes(self.used, shardings(zero.params, self.axes, self.used, mesh))
        is_copied = self.run.step.precision.name != "fp32" or in_use != masters
        of_grads = shardings(zero.gradients, self.axes, self.used, mesh)
        sums = jax.tree.map(lambda x: _shape(x.shape, jnp.float32), self.used)
        return Arrays(
            masters,
            in_use if is_copied else 0,
            _bytes(self.used, of_grads),
            _bytes(sums, of_grads),
            _bytes(self.state, places) - masters,
        )

    def peak(self, plan: Plan) -> Peak:
        """Of a device's micro-batch, by the formula."""
        mesh = plan.abstract
        divisors = mesh.shape["tensor"], mesh.shape["sequence"]
        by_tensor = set[int]().union(*(self.sizes.get(name, set()) for name in _TENSOR))
        length = {self.run.seq_len} if self.run.has_rows_of_tokens else set()
        lengths = length | self.sizes.get("positions", set())

        def size(aval: Any) -> float:
            if self.is_fused and any(aval.shape[-2:] == (n, n) for n in lengths):
                return 0.0
            found = math.prod(aval.shape) * aval.dtype.itemsize
            for divisor, dims in zip(divisors, (by_tensor, length), strict=True):
                found /= divisor if divisor > 1 and dims & set(aval.shape[1:]) else 1
            return float(found)

        def of(rows: int) -> Peak:
            found = self._once(
                (plan.remat, rows, divisors), lambda: peak(self._equations(plan.remat, rows), size)
            )
            return cast("Peak", found)

        few, more, share = self._anchors(self.rows(plan))
        return Peak(*(a + share * (b - a) for a, b in zip(of(few), of(more), strict=True)))

    def flops(self, plan: Plan) -> float:
        """Operations of a step over the global batch, of every device that repeats them once."""
        few = self._anchors(self.rows(plan))[0]
        key = plan.remat, few, "flops"
        found = self._once(key, lambda: flops_of(self._equations(plan.remat, few)).total)
        return float(found) * self.batch / few

    def _anchors(self, rows: int) -> tuple[int, int, float]:
        """Numbers of rows that are traced for this one, and how far it is from the first to both.

        Bytes grow in proportion to rows, until the logits are so many that they exist in slices.
        """
        vocab = max(self.sizes.get("vocab", {1}))
        length = self.run.seq_len if self.run.has_rows_of_tokens else 1
        few = 2 if rows * length * vocab < HELD else max(2, 2 * HELD // (length * vocab))
        return few, 2 * few, rows / few - 1

    def rows(self, plan: Plan) -> int:
        """Rows of one device's micro-batch."""
        return max(self.batch // (num_row_shards(plan.abstract) * plan.accumulate), 1)

    def _equations(self, remat: Remat, rows: int) -> Any:
        def trace() -> Any:
            return jax.make_jaxpr(self.gradient(remat))(self.used, self.batch_shapes(rows)).jaxpr

        return self._once((remat, rows), trace)

    def gradient(self, remat: Remat) -> Callable[[Any, Any], Any]:
        """(parameters, rows) → gradients, on one device, its layers in a loop."""
        objective, precision = self._objective(remat), self.run.step.precision

        def total(params: Any, rows: Any) -> Any:
            of = self.state.collections
            zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), of)
            prepared = precision.prepared(params)
            return objective.loss(prepared, zeros, rows, jax.random.key(0)).total

        return jax.grad(total)

    def _objective(self, remat: Remat) -> Objective:
        task = task_of(replace(self.run, remat=remat))
        if self.run.objective is None:
            return task.objective(None)
        return self.run.objective(task.model, is_training=True, constrain=None)


def predict_memory(subject: Subject, plan: Plan) -> Memory:
    """Of one device, without compiling anything."""
    arrays, stages = subject.arrays(plan.mesh), plan.mesh.stage
    found = subject.peak(plan)
    # A stage keeps what its layers need of all micro-batches, and of those that fill the pipeline.
    share = 1.0 if stages == 1 else (3 * stages - 1) / (2 * stages) / stages
    rows = subject.batch // num_row_shards(plan.abstract)
    batch = subject.batch_shapes(rows).values()
    of_batch = sum(math.prod(x.shape) * x.dtype.itemsize for x in batch) // plan.mesh.sequence
    return Memory(
        parameters=arrays.masters + arrays.copy,
        # In micro-batches there are sums, and the gradients of one.
        gradients=arrays.gradients + (arrays.sums if plan.accumulate > 1 else 0),
        optimizer=arrays.optimizer,
        activations=int(found.kept * share) + of_batch,
        temporaries=int(found.during),
    )


def lower(subject: Subject, program: Program) -> Any:
    """The step of a run's program, for shapes alone: `.compile()` compiles it."""
    rows = program.placement.rows()
    batch = {
        name: _shape(x.shape, x.dtype, sharding=fitted(rows, x.shape))
        for name, x in subject.batch_shapes(subject.batch).items()
    }
    state = jax.tree.map(
        lambda x, place: _shape(x.shape, x.dtype, sharding=place),
        program.shapes,
        program.placement.of_state(program.shapes),
    )
    step: Any = program.advance
    return step.lower(state, batch)


def with_compiled(formula: Memory, found: Any) -> Memory:
    """Memory by kind whose total is the compiler's; what the formula does not explain is
    temporary.
    """
    total = found.argument_size_in_bytes + found.temp_size_in_bytes
    total += found.output_size_in_bytes - found.alias_size_in_bytes
    rest = total - formula.parameters - formula.optimizer
    gradients = min(formula.gradients, rest)
    activations = min(formula.activations, rest - gradients)
    return replace(
        formula,
        gradients=gradients,
        activations=activations,
        temporaries=rest - gradients - activations,
        is_compiled=True,
    )


def _bytes(shapes: Any, places: Any) -> int:
    total = 0
    for leaf, place in zip(jax.tree.leaves(shapes), jax.tree.leaves(places), strict=True):
        if isinstance(place, NamedSharding):  # else it is kept outside of the devices
            shape = place.shard_shape(tuple(leaf.shape))
            total += math.prod(shape) * leaf.dtype.itemsize
    return total
