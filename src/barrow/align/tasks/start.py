"""What kinds of alignment runs share: the model, its words, and the state that it starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from barrow import config
from barrow.align.data.rows import Begin, Words, words_of
from barrow.align.model import BASE, REFERENCE, Aligned, AlignedConfig, kept
from barrow.errors import ConfigError
from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.models.load import Loaded
from barrow.models.open_model import of_kind, open_model
from barrow.nn.tree import Tree
from barrow.train.program import Program
from barrow.train.run import Run, policy_of
from barrow.train.state import TrainState

if TYPE_CHECKING:
    import optax

    from barrow.nn.trace import Constrain
    from barrow.train.objectives.objective import Objective


@dataclass(frozen=True)
class AlignTask:
    """A `Task` but for its data; the objective is the run's."""

    run: Run

    @property
    def unit(self) -> str:
        """As the objective says."""
        return str(getattr(self.run.objective, "unit", "pair"))

    @property
    def measure(self) -> str:
        """As the objective says."""
        return str(getattr(self.run.objective, "measure", f"per {self.unit}"))

    @property
    def config(self) -> AlignedConfig:
        """The decoder, and what is trained of it."""
        assert isinstance(self.run.model, AlignedConfig)
        return self.run.model

    @property
    def is_apart(self) -> bool:
        """Whether layers are not stacked: if they are quantized in different ways."""
        return isinstance(described(self.run.init)[1].params["layers"], tuple)

    @cached_property
    def model(self) -> Aligned:
        """The model, run as the settings say."""
        dtype = jnp.dtype(self.run.step.precision.dtype).name
        unroll = self.run.unroll or self.is_apart
        return self.config.module(unroll=unroll, remat=policy_of(self.run.remat), dtype=dtype)

    @property
    def example(self) -> tuple[Any, ...]:
        """Tokens."""
        return self.config.example

    def check(self) -> None:
        """Require a model, an objective, a number format and devices that alignment has."""
        run = self.run
        if not isinstance(run.model, AlignedConfig) or run.objective is None:
            raise ValueError("chats, pairs and prompts need a run of barrow.align.align_run")
        if run.step.precision.name not in ("fp32", "bf16"):
            raise ValueError(
                f"the precision of alignment must be fp32 or bf16, got {run.step.precision.name}"
            )
        if run.mesh.offload != "none":
            raise ValueError(f"alignment runs on the devices: mesh.offload={run.mesh.offload}")

    def optimizer(self) -> optax.GradientTransformation:
        """The run's, which has state for what is trained."""
        return self.run.optimizer.make(self.run.steps)

    def objective(self, constrain: Constrain | None) -> Objective:
        """None but the run's."""
        del constrain
        raise ConfigError("an alignment run names its objective")

    def evaluation(self, constrain: Constrain | None) -> Objective:
        """None but the run's."""
        return self.objective(constrain)

    def fitted(self) -> Run:
        """As it is."""
        return self.run

    def more(self) -> dict[str, Any]:
        """Arrays of the first state beside parameters, by name."""
        return {}

    def frozen(self) -> Any:
        """See `Started`."""
        first = described(self.run.init)[1].params
        return self.model.frozen_shapes(first, apart=self.is_apart) | jax.eval_shape(self.more)

    def start(self, program: Program) -> TrainState:
        """See `Started`."""
        return started(self.run, program, apart=self.is_apart, more=self.more())


@lru_cache(maxsize=2)
def described(init: str) -> tuple[DecoderConfig, Loaded]:
    """The architecture of a model, and what its files say, with the shapes of its parameters."""
    loaded = open_model(init)
    decoder = of_kind(loaded, init, Decoder)
    return decoder.config, replace(loaded, params=jax.eval_shape(lambda: loaded.params))


@lru_cache(maxsize=2)
def open_words(init: str, tokenizer: str, template: str, begin: Begin = "tokenizer") -> Words:
    """The tokenizer and the chat template of a run."""
    architecture, loaded = described(init)
    words = words_of(loaded, tokenizer=tokenizer, template=template, begin=begin)
    if words.tokenizer.vocab_size > architecture.vocab_size:
        raise ConfigError(
            f"the tokenizer has {words.tokenizer.vocab_size:,} ids, but the model {init} has "
            f"{architecture.vocab_size:,}; pass the tokenizer that it was trained with"
        )
    return words


def started(run: Run, program: Program, *, apart: bool, more: Mapping[str, Any]) -> TrainState:
    """The initial state: parameters of `run.init`, copies of what stays as it is, and `more`."""
    settings = run.model
    assert isinstance(settings, AlignedConfig)
    loaded = open_model(run.init, dtype="float32", unstack=apart, trust=config.outside(run))
    of_kind(loaded, run.init, Decoder)
    frozen: dict[str, Any] = {}
    if settings.lora is not None:
        frozen[BASE] = kept(loaded.params, settings.frozen)
        state = program.start({})
    else:
        if settings.reference:
            frozen[REFERENCE] = kept(loaded.params, settings.frozen)
        given = _by_path(loaded.params)
        if settings.head == "own":
            wanted = _by_path(program.shapes.params)
            given |= {
                f"critic/{path}": jnp.array(x)
                for path, x in given.items()
                if f"critic/{path}" in wanted
            }
        state = program.start(given)
    placed = jax.device_put(Tree({**frozen, **more}), program.shardings.collections)
    return replace(state, collections=placed)


def _by_path(tree: Any) -> dict[str, Any]:
    found = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in found}
