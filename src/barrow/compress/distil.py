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
from barrow.models.roberta.model import Roberta, head_weight
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
        of_kind: Any = self._of_decoder if isinstance(model, Decoder) else self._of_encoder

        def bind(known: Any) -> Objective:
            found: Objective = of_kind(model, teacher, known, constrain)
            return found

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

    def _of_decoder(
        self, model: Decoder, teacher: Decoder, known: Any, constrain: Constrain | None
    ) -> Objective:
        borders = ("segments", "positions") if self.mask_documents else ()

        def loss(params: Any, collections: Any, batch: Any, key: jax.Array) -> Loss:
            check_token_arrays(batch, "targets", "mask", *borders)
            read = {name: batch[name] for name in borders}
            weight, transposed = model.head_weight(params)
            run = replace(model, dtype=jnp.dtype(weight.dtype).name)
            keys = {"dropout": key} if model.config.dropout else None
            hidden, _ = run.apply(
                params, batch["tokens"], method=run.hidden, keys=keys, constrain=constrain, **read
            )
            seen, _ = teacher.apply(
                known, batch["tokens"], method=teacher.hidden, constrain=constrain, **read
            )
            theirs, theirs_transposed = teacher.head_weight(known)
            heads = _Heads(
                _turned(weight, transposed), None, _turned(theirs, theirs_transposed), None
            )
            mask = batch["mask"].astype(jnp.float32)
            return self._loss(
                (hidden, seen), (hidden, seen), heads, batch["targets"], mask, mask, collections
            )

        return Objective(loss)

    def _of_encoder(
        self, model: Roberta, teacher: Roberta, known: Any, constrain: Constrain | None
    ) -> Objective:
        config = model.config

        def loss(params: Any, collections: Any, batch: Any, key: jax.Array) -> Loss:
            check_token_arrays(batch, "targets", "mask", "segments", "positions")
            weight, bias, transposed = head_weight(config, params)
            run = replace(model, dtype=jnp.dtype(weight.dtype).name)
            read = masked_read(config, batch, mask_documents=self.mask_documents)
            keys = {"dropout": key} if config.dropout else None
            hidden = run.apply(params, batch["tokens"], keys=keys, constrain=constrain, **read)
            read = masked_read(teacher.config, batch, mask_documents=self.mask_documents)
            seen = teacher.apply(known, batch["tokens"], constrain=constrain, **read)
            states = run.apply(params, hidden, method=run.head_states, constrain=constrain)
            taught = teacher.apply(known, seen, method=teacher.head_states, constrain=constrain)
            theirs, theirs_bias, theirs_transposed = head_weight(teacher.config, known)
            heads = _Heads(
                _turned(weight, transposed), bias, _turned(theirs, theirs_transposed), theirs_bias
            )
            real = (batch["segments"] > 0).astype(jnp.float32)
            hard = (batch["mask"] != 0).astype(jnp.float32) / self.masked
            return self._loss(
                (states, taught), (hidden, seen), heads, batch["targets"], real, hard, collections
            )

        return Objective(loss)

    def _loss(
        self,
        states: tuple[jax.Array, jax.Array],
        hidden: tuple[jax.Array, jax.Array],
        heads: _Heads,
        targets: jax.Array,
        real: jax.Array,
        hard: jax.Array,
        collections: Any,
    ) -> Loss:
        taught = lax.stop_gradient(states[1])
        divergence, nats = _by_slices(
            partial_terms(heads, self.temperature, self.divergence),
            (states[0], taught, targets, real, hard),
            heads.weight.shape[0],
        )
        weight = real.sum()
        total = self.soft * self.temperature**2 * divergence + self.hard * nats
        metrics = {"divergence": Mean(divergence, weight), "nats": Mean(nats, weight)}
        if self.cosine:
            apart = (1 - _cosines(hidden[0], lax.stop_gradient(hidden[1]))) * real
            total = total + self.cosine * apart.sum()
            metrics["cosine_distance"] = Mean(apart.sum(), weight)
        return Loss(total, weight, metrics, collections)


@dataclass(frozen=True)
class _Heads:
    """What makes logits [vocab] of states: weights [vocab, width] and biases of both models."""

    weight: jax.Array
    bias: jax.Array | None
    theirs: jax.Array
    theirs_bias: jax.Array | None


def partial_terms(heads: _Heads, temperature: float, divergence: str) -> Any:
    """Sums of divergence and nats over the rows of a slice."""

    def terms(
        state: jax.Array, taught: jax.Array, target: jax.Array, real: jax.Array, hard: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        ours = _logits(state, heads.weight, heads.bias)
        theirs = lax.stop_gradient(_logits(taught, heads.theirs, heads.theirs_bias))
        logs, wanted = (jax.nn.log_softmax(x / temperature) for x in (ours, theirs))
        if divergence == "forward":
            each = (jnp.exp(wanted) * (wanted - logs)).sum(axis=-1)
        else:
            each = (jnp.exp(logs) * (logs - wanted)).sum(axis=-1)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(ours), target[..., None], axis=-1)[..., 0]
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


def _turned(weight: jax.Array, transposed: bool) -> jax.Array:
    return weight if transposed else weight.T


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
