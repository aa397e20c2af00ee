"""A model family: the settings of a model, and what differs between kinds.

The `model` of a run is such an object: `DecoderConfig`, `RobertaConfig`, `ClipConfig`, or a frozen
dataclass of your own. Training, checkpoints and scoring use this interface, never the class.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax

from barrow.config import from_dict, to_dict
from barrow.errors import CheckpointError
from barrow.nn.layers.remat import Policy
from barrow.nn.module import Module
from barrow.nn.scope import Scope


class Family(Protocol):
    """What a model is made of.

    Models do not import training or scoring, so these are names, ``module:Name``:

    - `objective`: what the model is trained with, unless the run names another.
    - `scoring`: the function that makes a scorer of a model (`barrow.score.models.open`);
      "" where the model gives no probability of text.
    - `usage`: what to type to use a run of it; "{run}" is its folder.
    """

    @property
    def objective(self) -> str: ...

    @property
    def scoring(self) -> str: ...

    @property
    def usage(self) -> str: ...

    @property
    def example(self) -> tuple[Any, ...]:
        """Shapes of inputs to initialise with."""

    def module(
        self, *, unroll: bool = False, remat: Policy | None = None, dtype: str = "float32"
    ) -> Module:
        """The model, which has these settings as its `config`.

        `unroll`: layers one after another instead of a loop. `dtype`: the type of activations.
        """


class CausalFamily(Family, Protocol):
    """A family trained by `barrow.train` on next tokens, and scored by `barrow.score`.

    Its module is a `CausalModule`.
    """

    @property
    def vocab_size(self) -> int:
        """The number of ids; a field, which a run sets from its token store."""

    @property
    def context(self) -> int:
        """Tokens that a row may have."""

    def flops(self, num_params: int, length: int) -> float:
        """Operations of training on one token in a row of `length`, e.g. 6.0 * num_params."""

    def module(
        self, *, unroll: bool = False, remat: Policy | None = None, dtype: str = "float32"
    ) -> CausalModule: ...


class CausalModule(Module):
    """A frozen dataclass with the fields `config` and `dtype` (the type of activations).

    Layers that are an `nn.Repeat` under the name "layers" need a field `unroll` too.
    """

    config: Any
    dtype: str

    @abstractmethod
    def hidden(
        self,
        scope: Scope,
        tokens: jax.Array,
        *,
        positions: jax.Array | None = None,
        segments: jax.Array | None = None,
    ) -> tuple[jax.Array, Any]:
        """Hidden states [batch, length, width] of tokens [batch, length], before the head.

        And caches, or (). `segments` [batch, length] separate documents in a row.
        """

    @abstractmethod
    def head_weight(self, params: Mapping[str, Any]) -> tuple[Any, bool]:
        """The weight that makes logits of states; and whether it is [vocab, width]."""


@runtime_checkable
class Opened(Protocol):
    """A family whose checkpoints hold more, or less, than the parameters of one model."""

    def open(
        self, folder: Path, about: Mapping[str, Any], *, dtype: str | None, unstack: bool
    ) -> Any:
        """The `Loaded` model of a checkpoint; arguments as those of `open_model`."""


@runtime_checkable
class Exported(Protocol):
    """A family that Hugging Face's `transformers` has too."""

    def save_huggingface(self, folder: Path, params: Any, about: Mapping[str, Any]) -> None:
        """Write a folder that `transformers` opens; `about` as a checkpoint has it."""


@dataclass(frozen=True)
class _Described:
    model: Family


def family_table(config: Family) -> dict[str, Any]:
    """A family as JSON: ``about["model"]`` of a checkpoint."""
    table: dict[str, Any] = to_dict(_Described(config))["model"]
    return table


def described_family(
    about: Mapping[str, Any], folder: Path, *, trust: Collection[str] = ()
) -> Family:
    """The model of a checkpoint, from its `about`."""
    if not isinstance(about.get("model"), Mapping):
        raise CheckpointError(
            "does not name its model (no table 'model' in about); `barrow checkpoint "
            "convert --to safetensors` writes its parameters",
            reason="no-model",
            folder=folder,
        )
    return from_dict(_Described, {"model": about["model"]}, trust=trust).model
