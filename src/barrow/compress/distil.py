"""Distillation: a student trained on a teacher's probabilities, on the ordinary loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import lax

from barrow.errors import ConfigError
from barrow.models.decoder.model import Decoder
from barrow.models.open_model import open_model
from barrow.models.roberta.model import head_weight
from barrow.nn.trace import Constrain
from barrow.stream.rows.masking import Mlm
from barrow.train.objectives.causal import causal_objective
from barrow.train.objectives.masked import masked_objective, masked_read
from barrow.train.objectives.objective import Loss, Mean, Objective, check_token_arrays

# Logits of the student and the teacher that are held at a time.
_HELD = 1 << 26


@dataclass(frozen=True)
class Distil:
    """soft · T² · KL(teacher, student) + hard · nats of the tokens + cosine · (1 − cos of states).

    Per token that is not padding. Nats of a masked model count where tokens are masked, and are
    divided by the share `masked` of them; so sums stay exact over micro-batches. The teacher runs
    in the same program, without dropout; its logits exist for a slice of the places at a time and
    are never stored. Defaults are DistilRoBERTa's.

    - `teacher`: a run, folder or file of a model with the same vocabulary.
    - `temperature`: both models' logits are divided by it.
    - `divergence`: forward, KL(teacher ‖ student); or reverse, KL(student ‖ teacher).
    """

    teacher: str
    temperature: float = 2.0
    soft: float = 5.0
    hard: float = 2.0
    cosine: float = 1.0
    divergence: Literal["forward", "reverse"] = "forward"
    masked: float = 0.15
    mask_documents: bool = True

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError(f"temperature must be > 0, got {self.temperature}")
        if min(self.soft, self.hard, self.cosine) < 0:
            raise ValueError("soft, hard and cosine must be ≥ 0")
        if self.divergence not in ("forward", "reverse"):
            raise ValueError(f"divergence must be forward or reverse, got {self.divergence!r}")

    def __call__(self, model: Any, *, is_training: bool, constrain: Constrain | None) -> Objective:
        """See `MakeObjective`; validation is the model's own loss, without the teacher."""
        if not is_training:
            return self._plain(model, constrain)
        loaded = open_model(self.teacher, dtype=model.dtype)
        teacher: Any = loaded.model
        _refuse_other(self, model.config, teacher.config)

        def bind(known: Any) -> Objective:
            return self._objective(model, teacher, known, constrain)

        params = jax.tree.map(jnp.asarray, loaded.params)
        return replace(bind(params), frozen=params, bind=bind)

    def _plain(self, model: Any, constrain: Constrain | None) -> Objective:
        documents = self.mask_documents
        if isinstance(model, Decoder):
            return causal_objective(
                model, mask_documents=documents, is_training=False, constrain=constrain
            )
        calm = replace(model, config=replace(model.config, dropout=0.0))
        mlm = Mlm(probability=self.masked)
        return masked_objective(calm, mlm, mask_documents=documents, constrain=constrain)

    def _objective(
        self, model: Any, teacher: Any, known: Any, constrain: Constrain | None
    ) -> Objective:
        is_causal = isinstance(model, Decoder)
        borders = ("segments", "positions") if self.mask_documents or not is_causal else ()

        def loss(params: Any, collections: Any, batch: Any, key: jax.Array) -> Loss:
            check_token_arrays(batch, "targets", "mask", *borders)
            keys = {"dropout": key} if model.config.dropout else None
            ours = self._computed(model, params, batch, constrain, keys)
            theirs = self._computed(teacher, known, batch, constrain)
            real = hard = batch["mask"].astype(jnp.float32)
            if not is_causal:
                real = (batch["segments"] > 0).astype(jnp.float32)
                hard = (batch["mask"] != 0).astype(jnp.float32) / self.masked
            return self._loss(ours, theirs, batch["targets"], real, hard, collections)

        return Objective(loss)

    def _computed(
        self,
        model: Any,
        params: Any,
        batch: Any,
        constrain: Constrain | None,
        keys: dict[str, jax.Array] | None = None,
    ) -> _Computed:
        if isinstance(model, Decoder):
            (weight, transposed), bias = model.head_weight(params), None
            read = {n: batch[n] for n in ("segments", "positions") if self.mask_documents}
        else:
            weight, bias, transposed = head_weight(model.config, params)
            read = masked_read(model.config, batch, mask_documents=self.mask_documents)
        run = replace(model, dtype=jnp.dtype(weight.dtype).name)
        given: Any = {"keys": keys, "constrain": constrain, **read}
        if isinstance(run, Decoder):
            hidden, _ = run.apply(params, batch["tokens"], method=run.hidden, **given)
            states = hidden
        else:
            hidden = run.apply(params, batch["tokens"], **given)
            states = run.apply(params, hidden, method=run.head_states, constrain=constrain)
        return _Computed(states, hidden, weight if transposed else weight.T, bias)

    def _loss(
        self,
        ours: _Computed,
        theirs: _Computed,
        targets: jax.Array,
        real: jax.Array,
        hard: jax.Array,
        collections: Any,
    ) -> Loss:
        taught = lax.stop_gradient(theirs.states)
        divergence, nats = _by_slices(
            partial_terms(ours, theirs, self.temperature, self.divergence),
            (ours.states, taught, targets, real, hard),
            ours.weight.shape[0],
        )
        weight = real.sum()
        total = self.soft * self.temperature**2 * divergence + self.hard * nats
        metrics = {"divergence": Mean(divergence, weight), "nats": Mean(nats, weight)}
        if self.cosine:
            apart = (1 - _cosines(ours.hidden, lax.stop_gradient(theirs.hidden))) * real
            total = total + self.cosine * apart.sum()
            metrics["cosine_distance"] = Mean(apart.sum(), weight)
        return Loss(total, weight, metrics, collections)


@dataclass(frozen=True)
class _Computed:
    """Of a model: what its head sees, the last hidden states, and what makes logits [vocab]."""

    states: jax.Array
    hidden: jax.Array
    weight: jax.Array
    bias: jax.Array | None


def partial_terms(ours: _Computed, theirs: _Computed, temperature: float, divergence: str) -> Any:
    """Sums of divergence and nats over the rows of a slice."""

    def terms(
        state: jax.Array, taught: jax.Array, target: jax.Array, real: jax.Array, hard: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        made = _logits(state, ours.weight, ours.bias)
        known = lax.stop_gradient(_logits(taught, theirs.weight, theirs.bias))
        logs, wanted = (jax.nn.log_softmax(x / temperature) for x in (made, known))
        if divergence == "forward":
            each = (jnp.exp(wanted) * (wanted - logs)).sum(axis=-1)
        else:
            each = (jnp.exp(logs) * (logs - wanted)).sum(axis=-1)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(made), target[..., None], axis=-1)[..., 0]
        return (each * real).sum(), -(chosen * hard).sum()

    return terms


def _by_slices(terms: Any, arrays: tuple[jax.Array, ...], vocab: int) -> Any:
    """Sums over slices of the length; the backward pass computes the logits of each again."""
    rows, length = arrays[0].shape[:2]
    wanted = rows * length * vocab // _HELD + 1
    num = next(n for n in range(min(wanted, length), length + 1) if length % n == 0)
    if num == 1:
        return terms(*arrays)

    def cut(x: jax.Array) -> jax.Array:
        return jnp.moveaxis(x.reshape(rows, num, length // num, *x.shape[2:]), 1, 0)

    def step(sums: Any, part: tuple[jax.Array, ...]) -> tuple[Any, None]:
        one, other = jax.checkpoint(terms)(*part)
        return (sums[0] + one, sums[1] + other), None

    zero = jnp.zeros((), jnp.float32)
    sums, _ = lax.scan(step, (zero, zero), tuple(cut(x) for x in arrays))
    return sums


def _logits(states: jax.Array, weight: jax.Array, bias: jax.Array | None) -> jax.Array:
    y = jnp.einsum("blw,vw->blv", states, weight.astype(states.dtype)).astype(jnp.float32)
    return y if bias is None else y + bias.astype(jnp.float32)


def _cosines(one: jax.Array, other: jax.Array) -> jax.Array:
    one, other = one.astype(jnp.float32), other.astype(jnp.float32)
    sizes = jnp.linalg.norm(one, axis=-1) * jnp.linalg.norm(other, axis=-1)
    return (one * other).sum(axis=-1) / jnp.maximum(sizes, 1e-8)


def _refuse_other(distil: Distil, ours: Any, theirs: Any) -> None:
    if type(ours) is not type(theirs):
        raise ConfigError(
            f"the student is a {type(ours).__name__} and the teacher a {type(theirs).__name__}"
        )
    if ours.vocab_size != theirs.vocab_size:
        raise ConfigError(
            f"the student has {ours.vocab_size:,} ids and the teacher {theirs.vocab_size:,}: they "
            "need the same tokenizer"
        )
    if distil.cosine and ours.width != theirs.width:
        raise ConfigError(
            f"the student's states have a width of {ours.width} and the teacher's of "
            f"{theirs.width}: cosines need the same; set objective.cosine=0"
        )
