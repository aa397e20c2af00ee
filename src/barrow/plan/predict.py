"""The memory of a plan: arrays exactly, from shapes and rules; activations by a formula, or exactly
by compiling the step for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property
from typing import Any, cast

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh

from barrow.models.clip.config import ClipConfig
from barrow.nn.cross_entropy import HELD
from barrow.nn.flops import flops_of
from barrow.nn.liveness import Peak, peak
from barrow.nn.module import axes, init_collections
from barrow.parallel import AXES, ZERO, fitted, num_row_shards
from barrow.parallel.placement import Placement
from barrow.train.objectives.objective import Objective
from barrow.train.profile.memory import Arrays, Memory, arrays_of, whole_bytes
from barrow.train.program import Program, masters_outside
from barrow.train.run import MeshSettings, Remat, Run
from barrow.train.step import init_state
from barrow.train.tasks.task import task_of

_shape: Any = jax.ShapeDtypeStruct
# Names of dimensions that `tensor` divides.
_TENSOR = ("heads", "kv_heads", "mlp", "vocab")
# Of an unrolled model, layers that are traced: each more adds what the one before added.
_FEW, _MORE = 2, 3
_TILE = 64  # places that cuDNN's attention computes together


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
        if self.mesh.offload_masters:
            words.append("offload_masters")
        if self.accumulate > 1:
            words.append(f"accumulate={self.accumulate}")
        if self.remat != "none":
            words.append(f"remat={self.remat}")
        return " ".join(words)


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

        def count() -> Arrays:
            params, is_outside = self.state.params, mesh.offload_masters
            masters = masters_outside(self.run, self.task, params) if is_outside else {}
            zero, offload = ZERO[mesh.zero], mesh.offload
            placement = Placement(Plan(mesh).abstract, zero, self.axes, offload, masters=masters)
            return arrays_of(self.state, placement, self.run.step.precision)

        return cast("Arrays", self._once(mesh, count))

    @cached_property
    def _shallow(self) -> tuple[float, Subject, Subject] | None:
        """The run with few layers and with more; how far all are from the first to the second."""
        model: Any = self.run.model
        num = getattr(model, "layers", 0) if is_dataclass(model) else 0
        if not self.run.unroll or not isinstance(num, int) or num <= _MORE:
            return None
        runs = (replace(self.run, model=replace(model, layers=n)) for n in (_FEW, _MORE))
        few, more = (Subject(run, is_fused=self.is_fused) for run in runs)
        return (num - _FEW) / (_MORE - _FEW), few, more

    def peak(self, plan: Plan) -> Peak:
        """Of a device's micro-batch, by the formula."""
        if self._shallow is not None:
            share, few_layers, more_layers = self._shallow
            return few_layers.peak(plan).towards(more_layers.peak(plan), share)
        divisors = plan.mesh.tensor, plan.mesh.sequence
        by_tensor = set[int]().union(*(self.sizes.get(name, set()) for name in _TENSOR))
        length = {self.run.seq_len} if self.run.has_rows_of_tokens else set()
        lengths = length | self.sizes.get("positions", set())

        def size(aval: Any) -> float:
            if self.is_fused and any(aval.shape[-2:] == (n, n) for n in lengths):
                return 0.0
            found = whole_bytes(aval)
            for divisor, dims in zip(divisors, (by_tensor, length), strict=True):
                found /= divisor if divisor > 1 and dims & set(aval.shape[1:]) else 1
            return found

        def of(rows: int) -> Peak:
            key = plan.remat, rows, divisors
            found = self._once(key, lambda: peak(self._equations(plan.remat, rows), size))
            return cast("Peak", found)

        few, more, share = self._anchors(self.rows(plan))
        return of(few).towards(of(more), share)

    def flops(self, plan: Plan) -> float:
        """Operations of a step over the global batch, of every device that repeats them once."""
        if self._shallow is not None:
            share, few_layers, more_layers = self._shallow
            less = few_layers.flops(plan)
            return less + share * (more_layers.flops(plan) - less)
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

    def scores(self, plan: Plan) -> float:
        """Bytes that a device's fused attention needs to give the same bits each time.

        cuDNN then holds the gradient of all scores of a layer (`docs/design/0020`).
        """
        run, model = self.run, cast("Any", self.run.model)
        is_whole = getattr(model, "window", None) is None and getattr(model, "sparse", None) is None
        if not (self.is_fused and run.step.deterministic and run.has_rows_of_tokens and is_whole):
            return 0.0
        length = -(-run.seq_len // _TILE) * _TILE
        num = self.rows(plan) * getattr(model, "heads", 0) * length**2
        return 2.0 * num / (plan.mesh.tensor * plan.mesh.sequence)

    def _equations(self, remat: Remat, rows: int) -> Any:
        def trace() -> Any:
            return jax.make_jaxpr(self.gradient(remat))(self.used, self.batch_shapes(rows)).jaxpr

        return self._once((remat, rows), trace)

    def gradient(self, remat: Remat) -> Callable[[Any, Any], Any]:
        """(parameters, rows) → gradients, on one device."""
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
    stages, found = plan.mesh.stage, subject.peak(plan)
    if stages > 1:
        # A stage keeps what its layers need of all micro-batches, and of those that fill the
        # pipeline.
        found = found._replace(kept=found.kept * (3 * stages - 1) / (2 * stages) / stages)
    # At another moment than the loss, whose logits are most of what exists `during` it.
    found = found._replace(during=max(found.during, subject.scores(plan)))
    shapes = subject.batch_shapes(subject.batch // num_row_shards(plan.abstract)).values()
    batch = sum(map(whole_bytes, shapes)) // plan.mesh.sequence
    return subject.arrays(plan.mesh).memory(found, int(batch), plan.accumulate)


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
