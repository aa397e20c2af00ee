"""Causal language models: next-token prediction on a token store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import jax.numpy as jnp

from barrow.models.family import CausalFamily, CausalModule
from barrow.train.objectives.causal import causal_objective
from barrow.train.run import Run, policy_of, refuse_long_rows, token_settings
from barrow.train.tasks.task import Data, Work
from barrow.train.tasks.token_data import TokenData, token_data, validation_data, vocab_size_of

if TYPE_CHECKING:
    import optax

    from barrow.nn.trace import Constrain
    from barrow.train.objectives.objective import Objective


@dataclass(frozen=True)
class CausalTask:
    """The task of a run whose model is a `CausalFamily`, as a decoder is."""

    run: Run
    unit = "token"
    measure = "nats per token"

    @property
    def config(self) -> CausalFamily:
        """The architecture."""
        return cast("CausalFamily", self.run.model)

    def check(self) -> None:
        """Require rows of tokens, none of them masked, that fit the model's positions."""
        data = token_settings(self.run.data)
        if data.mlm is not None:
            raise ValueError("a causal model has no masked tokens: leave out data.mlm")
        context, length = self.config.context, data.longest
        refuse_long_rows(length, context, f"model.context={length}")

    @cached_property
    def model(self) -> CausalModule:
        """The model, run as the settings say."""
        return self.config.module(
            unroll=self.run.unroll,
            remat=policy_of(self.run.remat),
            dtype=jnp.dtype(self.run.step.precision.dtype).name,
        )

    @property
    def example(self) -> tuple[Any, ...]:
        """Tokens."""
        return self.config.example

    def optimizer(self) -> optax.GradientTransformation:
        """The run's."""
        return self.run.optimizer.make(self.run.steps)

    def objective(self, constrain: Constrain | None) -> Objective:
        """Nats of every next token."""
        return causal_objective(
            self.model, mask_documents=self.run.mask_documents, constrain=constrain
        )

    def evaluation(self, constrain: Constrain | None) -> Objective:
        """The same without dropout, which changes no parameter."""
        return causal_objective(
            self.model,
            mask_documents=self.run.mask_documents,
            is_training=False,
            constrain=constrain,
        )

    def data(self) -> TokenData:
        """The stream of the run's store."""
        return token_data(self.run, vocab_size=self.config.vocab_size)

    def validation(self, data: Data) -> TokenData | None:
        """The validation store, each of its domains read once."""
        assert isinstance(data, TokenData)
        return validation_data(self.run, data)

    def work(self, batch: Mapping[str, Any], num_params: int) -> Work:
        """Tokens, with padding, times the model's operations (6N + 12·L·d·T)."""
        rows, length = batch["tokens"].shape
        return Work(rows * length, rows * length * self.config.flops(num_params, length))

    def fitted(self) -> Run:
        """With as many ids in the vocabulary as the store's tokenizer has."""
        config: Any = self.config
        return replace(self.run, model=replace(config, vocab_size=vocab_size_of(self.run)))
