"""Causal language models: a decoder learns to say the next token of a token store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from barrow.models.decoder import Decoder, DecoderConfig
from barrow.train.causal import causal_objective
from barrow.train.mfu import flops_per_token
from barrow.train.remat import policy_of
from barrow.train.run import Run
from barrow.train.task import Data, Work
from barrow.train.token_data import TokenData, held_out_data, token_data, vocab_size_of

if TYPE_CHECKING:
    import optax

    from barrow.nn.trace import Constrain
    from barrow.train.objective import Objective


@dataclass(frozen=True)
class CausalTask:
    """The task of a run whose model is a decoder."""

    run: Run
    unit = "token"
    measure = "nats per token"

    @property
    def config(self) -> DecoderConfig:
        """The architecture."""
        assert isinstance(self.run.model, DecoderConfig)
        return self.run.model

    @cached_property
    def model(self) -> Decoder:
        """The decoder, run as the settings say."""
        return Decoder(
            self.config,
            unroll=self.run.unroll,
            remat=policy_of(self.run.remat),
            dtype=jnp.dtype(self.run.step.precision.dtype).name,
        )

    @property
    def example(self) -> tuple[Any, ...]:
        """Tokens."""
        return (jax.ShapeDtypeStruct((1, 1), jnp.int32),)

    def optimizer(self) -> optax.GradientTransformation:
        """The run's."""
        return self.run.optimizer.make(self.run.steps)

    def objective(self, constrain: Constrain | None) -> Objective:
        """Nats of every next token."""
        return causal_objective(self.model, is_parted=self.run.is_parted, constrain=constrain)

    def evaluation(self, constrain: Constrain | None) -> Objective:
        """The same without dropout, which changes no parameter."""
        calm = replace(self.model, config=replace(self.config, dropout=0.0))
        return causal_objective(calm, is_parted=self.run.is_parted, constrain=constrain)

    def data(self) -> TokenData:
        """The stream of the run's store."""
        return token_data(self.run, vocab_size=self.config.vocab_size)

    def held_out(self, data: Data) -> TokenData | None:
        """The held-out store, each of its domains read once."""
        assert isinstance(data, TokenData)
        return held_out_data(self.run, data)

    def work(self, batch: Mapping[str, Any], num_params: int) -> Work:
        """Tokens, padding too, by 6N + 12·L·d·T each."""
        rows, length = batch["tokens"].shape
        width = self.config.heads * self.config.size_of_head
        each = flops_per_token(num_params, layers=self.config.layers, width=width, length=length)
        return Work(rows * length, rows * length * each)

    def fitted(self) -> Run:
        """With as many ids in the vocabulary as the store's tokenizer has."""
        return replace(self.run, model=replace(self.config, vocab_size=vocab_size_of(self.run)))
