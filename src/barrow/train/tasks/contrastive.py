"""CLIP: two towers learn to match images and texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from barrow.models.clip.config import ClipConfig, ResNetConfig
from barrow.models.clip.load import named_tokenizer
from barrow.models.clip.model import CLIP
from barrow.models.clip.tower import Running
from barrow.nn.flops import flops
from barrow.nn.layers.batch_norm import COLLECTION
from barrow.nn.module import init_collections
from barrow.stream.pairs import PairSettings
from barrow.train.objectives.contrastive import contrastive_objective, scale_kept
from barrow.train.run import Run, policy_of
from barrow.train.tasks.pair_data import PairData, pair_data, validation_pairs
from barrow.train.tasks.task import Data, Work

if TYPE_CHECKING:
    import optax

    from barrow.nn.trace import Constrain
    from barrow.train.objectives.objective import Objective


@dataclass(frozen=True)
class ContrastiveTask:
    """The task of a run whose model is a CLIP."""

    run: Run
    unit = "pair"
    measure = "nats per pair"

    @property
    def config(self) -> ClipConfig:
        """The architecture."""
        assert isinstance(self.run.model, ClipConfig)
        return self.run.model

    def check(self) -> None:
        """Image–text pairs."""
        if not isinstance(self.run.data, PairSettings):
            raise ValueError("CLIP needs image–text pairs: data=PairSettings(batch=…)")
        _ = self.run.data.batches  # it reports what is missing

    @cached_property
    def model(self) -> CLIP:
        """Both towers, run as the settings say."""
        dtype = jnp.dtype(self.run.step.precision.dtype).name
        remat = policy_of(self.run.remat)
        return self.config.module(unroll=self.run.unroll, remat=remat, dtype=dtype)

    @property
    def example(self) -> tuple[Any, ...]:
        """Images and texts."""
        return self.config.example

    def optimizer(self) -> optax.GradientTransformation:
        """The run's; the scale stays at 100 or below."""
        return scale_kept(self.run.optimizer.make(self.run.steps))

    def objective(self, constrain: Constrain | None) -> Objective:
        """The symmetric loss over the global batch; statistics of a ResNet are the batch's."""
        mutable = (COLLECTION,) if isinstance(self.config.image, ResNetConfig) else ()
        return contrastive_objective(self.model, mutable=mutable, constrain=constrain)

    def evaluation(self, constrain: Constrain | None) -> Objective:
        """The same, with fixed statistics."""
        return contrastive_objective(self.model, constrain=constrain)

    def data(self) -> PairData:
        """The stream of the run's pairs."""
        return pair_data(self.run, self.config)

    def validation(self, data: Data) -> PairData | None:
        """The validation index, each pair once."""
        del data  # index and tokenizer are the run's
        return validation_pairs(self.run, self.config)

    def work(self, batch: Mapping[str, Any], num_params: int) -> Work:
        """Pairs; three times the matrix products of both towers' forward pass for each."""
        del num_params  # tables are looked up, towers differ: products are counted instead
        return Work(len(batch["mask"]), len(batch["mask"]) * self._flops_of_a_pair)

    @cached_property
    def _flops_of_a_pair(self) -> float:
        plain = replace(self.model, running=Running(backend="xla"))
        params = jax.eval_shape(lambda: plain.init(jax.random.key(0), *self.example))
        collections = init_collections(plain, *self.example)

        def forward(params: Any, images: Any, texts: Any) -> Any:
            return plain.apply(params, images, texts, collections=collections)

        return 3.0 * flops(forward, params, *self.example).total

    def fitted(self) -> Run:
        """With as many ids in the text tower's vocabulary as the tokenizer has."""
        vocab_size = named_tokenizer(self.run.tokenizer).vocab_size
        text = replace(self.config.text, vocab_size=vocab_size)
        return replace(self.run, model=replace(self.config, text=text))
