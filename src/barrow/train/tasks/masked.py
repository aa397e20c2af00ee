"""Masked language models: an encoder predicts the masked tokens of a token store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.stream import StreamSettings
from barrow.stream.store import padding_of
from barrow.train.mfu import flops_per_token
from barrow.train.objectives.masked import masked_objective
from barrow.train.run import Run, policy_of, refuse_long_rows, token_settings
from barrow.train.tasks.task import Data, Work
from barrow.train.tasks.token_data import TokenData, token_data, validation_data

if TYPE_CHECKING:
    import optax

    from barrow.nn.trace import Constrain
    from barrow.stream.rows.masking import Mlm
    from barrow.train.objectives.objective import Objective


@dataclass(frozen=True)
class MaskedTask:
    """The task of a run whose model is a RoBERTa."""

    run: Run
    unit = "token"
    measure = "nats per masked token"

    @property
    def config(self) -> RobertaConfig:
        """The architecture."""
        assert isinstance(self.run.model, RobertaConfig)
        return self.run.model

    def check(self) -> None:
        """Require rows of tokens, some of them masked, that fit the model's positions and head."""
        data, config = token_settings(self.run.data), self.config
        if data.mlm is None:
            raise ValueError("a masked model needs data.mlm; data.mlm={} uses the defaults")
        if not config.mlm_head:
            raise ValueError("masked language modelling needs a head: model.mlm_head=true")
        length = data.longest
        more = f"model.positions={config.positions + length - config.context}"
        refuse_long_rows(length, config.context, more)

    @property
    def mlm(self) -> Mlm:
        """How tokens are masked."""
        assert isinstance(self.run.data, StreamSettings)
        assert self.run.data.mlm is not None  # refused by the run
        return self.run.data.mlm

    @cached_property
    def model(self) -> Roberta:
        """The encoder with its head, run as the settings say."""
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
        """Nats of every masked token."""
        return self._objective(self.model, constrain)

    def evaluation(self, constrain: Constrain | None) -> Objective:
        """The same without dropout, which changes no parameter."""
        calm = replace(self.model, config=replace(self.config, dropout=0.0))
        return self._objective(calm, constrain)

    def data(self) -> TokenData:
        """The stream of the run's store, some of its tokens masked."""
        return token_data(self.run, vocab_size=self.config.vocab_size)

    def validation(self, data: Data) -> TokenData | None:
        """The validation store, each of its domains read once, with the same masks every time."""
        assert isinstance(data, TokenData)
        return validation_data(self.run, data)

    def work(self, batch: Mapping[str, Any], num_params: int) -> Work:
        """Tokens, masked or not, times 6N + 12·L·d·T, with the head only for the masked ones.

        Its products are 6·(vocabulary + width)·width of each; positions and words are looked up.
        """
        rows, length = batch["tokens"].shape
        config = self.config
        head = config.width * (config.vocab_size + config.width)
        looked_up = config.width * (config.positions + config.token_types)
        looked_up += 0 if config.tied else config.width * config.vocab_size
        layers = num_params - head - looked_up
        each = flops_per_token(layers, layers=config.layers, width=config.width, length=length)
        each += 6.0 * head * self.mlm.probability
        return Work(rows * length, rows * length * each)

    def fitted(self) -> Run:
        """With the vocabulary of the store's tokenizer, and its padding."""
        store, config = self.data().store, self.config
        assert isinstance(self.run.data, StreamSettings)
        pad = padding_of(store)
        return replace(
            self.run,
            model=replace(
                config,
                vocab_size=store.vocab_size,
                pad=pad,
                positions=config.context + pad + 1,
            ),
            data=replace(self.run.data, pad=pad),
        )

    def _objective(self, model: Roberta, constrain: Constrain | None) -> Objective:
        return masked_objective(
            model, self.mlm, mask_documents=self.run.mask_documents, constrain=constrain
        )
