"""Heads on RoBERTa's hidden states: classes of a text, of each token, or numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.nn.initialisers import normal
from barrow.nn.layers.dense import Dense
from barrow.nn.layers.dropout import Dropout
from barrow.nn.layers.remat import Policy
from barrow.nn.module import Module
from barrow.nn.scope import Scope


@dataclass(frozen=True)
class ClassificationHead(Module):
    """Logits [batch, num] of a text: tanh(first·W + b)·out, where `first` is the state of `<s>`."""

    num: int
    dropout: float = 0.1
    init_std: float = 0.02

    def forward(self, scope: Scope, hidden: jax.Array) -> jax.Array:
        """Of hidden states [batch, length, width]."""
        init, drop = normal(self.init_std), Dropout(self.dropout)
        x = drop(scope / "dropout", hidden[:, 0])
        x = jnp.tanh(
            Dense(hidden.shape[-1], axes=("embed", "mlp"), weight_init=init)(scope / "dense", x)
        )
        x = drop(scope / "out_dropout", x)
        y: jax.Array = Dense(self.num, axes=("mlp", "labels"), weight_init=init)(
            scope / "out_proj", x
        )
        return y


@dataclass(frozen=True)
class RegressionHead(Module):
    """Numbers [batch] or [batch, num] of a text: a `ClassificationHead` without classes."""

    num: int = 1
    dropout: float = 0.1
    init_std: float = 0.02

    def forward(self, scope: Scope, hidden: jax.Array) -> jax.Array:
        """Of hidden states [batch, length, width]."""
        head = ClassificationHead(self.num, self.dropout, self.init_std)
        y: jax.Array = head(scope, hidden)
        return y[:, 0] if self.num == 1 else y


@dataclass(frozen=True)
class TokenHead(Module):
    """Logits [batch, length, num] of each token."""

    num: int
    dropout: float = 0.1
    init_std: float = 0.02

    def forward(self, scope: Scope, hidden: jax.Array) -> jax.Array:
        """Of hidden states [batch, length, width]."""
        x = Dropout(self.dropout)(scope / "dropout", hidden)
        head = Dense(self.num, axes=("embed", "labels"), weight_init=normal(self.init_std))
        y: jax.Array = head(scope, x)
        return y


Head = ClassificationHead | RegressionHead | TokenHead


@dataclass(frozen=True)
class RobertaWithHead(Module):
    """A head on the hidden states of `body`, under `classifier` as in Hugging Face's files.

    The other parameters have the names that they have in `body` alone, so those of a pretrained
    model fit unchanged.
    """

    body: Roberta
    head: Head

    @property
    def config(self) -> RobertaConfig:
        """The architecture of the body."""
        return self.body.config

    def forward(self, scope: Scope, tokens: jax.Array, **inputs: Any) -> jax.Array:
        """The head's output; `inputs` are those of `Roberta.forward`."""
        y: jax.Array = self.head(scope / "classifier", self.body(scope, tokens, **inputs))
        return y


@dataclass(frozen=True)
class LabelledConfig:
    """A family: an encoder with a head for one of `labels`, tags of words, or a number."""

    body: RobertaConfig
    kind: Literal["classify", "tag", "regress"]
    labels: tuple[str, ...] = ()

    objective = "barrow.train.finetune.finetune:FinetuneTask"
    scoring = ""
    usage = "barrow model predict DATA --model {run}"

    @property
    def example(self) -> tuple[Any, ...]:
        """Tokens."""
        return self.body.example

    @property
    def head(self) -> Head:
        """The head, with the body's dropout."""
        dropout, std = self.body.dropout, self.body.init_std
        if self.kind == "tag":
            return TokenHead(len(self.labels), dropout, std)
        if self.kind == "regress":
            return RegressionHead(1, dropout, std)
        return ClassificationHead(len(self.labels), dropout, std)

    def module(
        self, *, unroll: bool = True, remat: Policy | None = None, dtype: str = "float32"
    ) -> RobertaWithHead:
        """See `Family`; layers are always unrolled, so that each can be frozen."""
        del unroll
        return RobertaWithHead(self.body.module(unroll=True, remat=remat, dtype=dtype), self.head)
