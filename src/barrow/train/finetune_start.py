"""A pretrained model made ready for labels: its body, a new head, and what was left behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from barrow.models.load import Loaded
from barrow.models.open_model import of_kind, open_model
from barrow.models.roberta import Roberta, RobertaConfig
from barrow.models.roberta_heads import (
    ClassificationHead,
    Head,
    RegressionHead,
    RobertaWithHead,
    TokenHead,
)
from barrow.nn.module import num_params
from barrow.nn.tree import Tree
from barrow.stream.labelled import Kind

# Of a model's parameters, what is no part of the body that a head stands on.
_BEHIND = ("lm_head", "pooler", "classifier")


@dataclass(frozen=True)
class Pretrained:
    """A model's body, its layers apart, and what its files say beside."""

    loaded: Loaded
    body: Roberta
    config: RobertaConfig
    params: Tree
    left: tuple[str, ...]

    def with_head(self, kind: Kind, num_labels: int, *, seed: int) -> tuple[RobertaWithHead, Tree]:
        """The body under a new head, whose parameters `seed` decides."""
        head = make_head(kind, num_labels, self.config)
        made = head.init(jax.random.key(seed), jnp.zeros((1, 1, self.config.width), jnp.float32))
        both = RobertaWithHead(replace(self.body, config=self.config, unroll=True), head)
        return both, self.params | {"classifier": made}

    def in_words(self, head: Mapping[str, Any]) -> str:
        """What became of the parameters."""
        left = f"; left: {', '.join(self.left)}" if self.left else ""
        return (
            f"{num_params(self.params):,} parameters taken over{left}; new: classifier, "
            f"{num_params(head):,}"
        )


def pretrained(path: str | Path) -> Pretrained:
    """Open a RoBERTa to stand a head on: a folder of files, a run or a checkpoint."""
    loaded = open_model(path, dtype="float32", apart=True)
    model: Any = of_kind(loaded, path, Roberta, RobertaWithHead)
    body: Roberta = getattr(model, "body", model)
    config = replace(body.config, mlm_head=False, pooler=False)
    left = tuple(name for name in _BEHIND if name in loaded.params)
    kept = Tree({name: x for name, x in loaded.params.items() if name not in _BEHIND})
    return Pretrained(loaded, body, config, kept, left)


def make_head(kind: Kind, num_labels: int, config: RobertaConfig) -> Head:
    """The head of a task, dropping as much as the body does."""
    if kind == "tag":
        return TokenHead(num_labels, config.dropout, config.init_std)
    if kind == "regress":
        return RegressionHead(1, config.dropout, config.init_std)
    return ClassificationHead(num_labels, config.dropout, config.init_std)
