"""The model of an alignment run: a decoder, perhaps with adapters, a scalar head or a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp

from barrow.align.lora import Lora
from barrow.checkpoint.params import load_collections, load_params
from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded
from barrow.models.quantized import from_arrays
from barrow.models.tokenizer_files import described_files
from barrow.nn.initialisers import zeros
from barrow.nn.layers.dense import Dense
from barrow.nn.layers.remat import Policy
from barrow.nn.layers.repeat import put_together, take_apart
from barrow.nn.module import Module, describe
from barrow.nn.scope import Scope
from barrow.nn.tree import Tree, paths
from barrow.nn.weights.kernels import is_weight
from barrow.nn.weights.low_rank import joined, merged
from barrow.nn.weights.per_channel import PerChannel

# What a state keeps beside trained parameters.
BASE, REFERENCE = "base", "reference"
Head = Literal["none", "reward", "shared", "own"]
_SCORE, _CRITIC = "score", "critic"


@dataclass(frozen=True)
class AlignedConfig:
    """A decoder and what is trained of it.

    - `body`: the decoder; `lora`: adapters; None trains all parameters.
    - `head`: a number for each token: a reward, which is what the model is for; a value, from the
      policy's last hidden states (shared) or from a decoder of its own (own); or none.
    - `reference`: whether the first parameters are kept, for distances to them. Under adapters
      these are the base, and no copy is made.
    - `frozen`: the type of parameters that are not trained.
    """

    body: DecoderConfig
    lora: Lora | None = None
    head: Head = "none"
    reference: bool = False
    frozen: str = "float32"

    objective = ""
    scoring = ""

    def __post_init__(self) -> None:
        if self.head not in ("none", "reward", "shared", "own"):
            raise ValueError(f"head must be none, reward, shared or own, got {self.head!r}")
        if self.lora is not None and self.head == "own":
            raise ValueError(
                "a critic of its own needs all parameters: leave out lora, or share it"
            )
        if self.lora is not None:
            self.lora.chosen(describe(self.body.module(), *self.body.example))

    @property
    def usage(self) -> str:
        """What to type to use a run of it."""
        if self.head == "reward":
            return "barrow align ppo MODEL --reward {run} --prompts FILE --out RUN"
        return self.body.usage

    @property
    def example(self) -> tuple[Any, ...]:
        """Tokens."""
        return self.body.example

    @property
    def layers(self) -> int:
        """Of the decoder."""
        return self.body.layers

    def module(
        self, *, unroll: bool = False, remat: Policy | None = None, dtype: str = "float32"
    ) -> Aligned:
        """See `Family`."""
        # Ratios of probabilities need the same program twice: nothing is dropped.
        body = replace(self.body, dropout=0.0)
        return Aligned(self, body.module(unroll=unroll, remat=remat, dtype=dtype))

    def open(
        self, folder: Path, about: Mapping[str, Any], *, dtype: str | None, unstack: bool
    ) -> Loaded:
        """See `models.open_model`: the decoder of a checkpoint, its adapters merged.

        A reward model stays an `Aligned`, whose parameters are whole.
        """
        params = numbered(load_params(folder))
        if self.lora is not None:
            specs = describe(self.body.module(), *self.body.example)
            base = from_arrays(numbered(load_collections(folder)[BASE]), specs)
            params = merged(joined(base, params, self.lora.scale))
        if isinstance(params["layers"], tuple):
            params = put_together(params, "layers")
        kind = dtype or ("float32" if self.lora is None else self.frozen)
        params = jax.tree.map(lambda x: jnp.asarray(x, kind), params)
        model: Module = self.body.module(unroll=unstack, dtype=kind)
        if self.head == "reward":
            whole = replace(self, lora=None)
            model = whole.module(unroll=unstack, dtype=kind)
        else:
            params = Tree({n: x for n, x in params.items() if n not in (_SCORE, _CRITIC)})
        return Loaded(
            model,
            take_apart(params, "layers") if unstack else params,
            KeysReport(matched=tuple(paths(params))),
            described_files(about, is_causal=True),
        )


@dataclass(frozen=True)
class Aligned(Module):
    """See `AlignedConfig`. Its parameters are those that are trained; `whole` gives all."""

    config: AlignedConfig
    body: Decoder

    def forward(self, scope: Scope, tokens: jax.Array, **kwargs: Any) -> Any:
        """Describes the parameters; it is `whole` that computes."""
        assert scope.trace.is_describing
        config = self.config
        if config.lora is None:
            out = self.body(scope, tokens, **kwargs)
        else:
            specs = describe(self.body, tokens)
            for path in config.lora.chosen(specs):
                for place, spec in config.lora.adapters(path, specs[path]).items():
                    *folders, name = place.split("/")
                    at = scope
                    for folder in folders:
                        at = at / folder
                    at.param(name, spec.shape, spec.init, spec.axes)
            out = None
        if config.head == "own":
            self.body.hidden(scope / _CRITIC, tokens)
        if config.head != "none":
            states = jnp.zeros((*tokens.shape, config.body.width), jnp.float32)
            _score()(scope / _SCORE, states)
        return out

    def whole(self, params: Any, frozen: Any) -> Any:
        """All parameters of the decoder, and its head, in the type of the trained ones."""
        if self.config.lora is None:
            return params
        kind = jax.tree.leaves(params)[0].dtype
        return joined(_cast(frozen[BASE], kind), params, self.config.lora.scale)

    def first(self, frozen: Any, like: Any) -> Any:
        """The parameters of the reference, in the type of `like`."""
        name = REFERENCE if self.config.lora is None else BASE
        return _cast(frozen[name], jax.tree.leaves(like)[0].dtype)

    def hidden(self, params: Any, tokens: jax.Array, *, constrain: Any = None, **where: Any) -> Any:
        """The last hidden states [rows, length, width] of whole parameters."""
        run = self._typed(params)
        states, _ = run.apply(
            _body_of(params), tokens, method=run.hidden, constrain=constrain, **where
        )
        return states

    def scores(
        self,
        params: Any,
        states: jax.Array,
        tokens: jax.Array,
        *,
        constrain: Any = None,
        **where: Any,
    ) -> jax.Array:
        """The head's number at each token, float32 [rows, length].

        `states` are those of `hidden`; a head of its own computes others.
        """
        if self.config.head == "own":
            run = self._typed(params)
            critic = params[_CRITIC]
            states, _ = run.apply(critic, tokens, method=run.hidden, constrain=constrain, **where)
        kernel = params[_SCORE]["kernel"].astype(jnp.float32)
        scores: jax.Array = (states.astype(jnp.float32) @ kernel)[..., 0]
        return scores

    def frozen_shapes(self, first: Any, *, apart: bool) -> Tree:
        """What a state keeps of the first parameters beside those that are trained, as shapes."""
        config = self.config
        name = BASE if config.lora is not None else REFERENCE
        if config.lora is None and not config.reference:
            return Tree()

        def make(first: Any) -> Any:
            is_stacked = not isinstance(first["layers"], tuple)
            return kept(
                take_apart(first, "layers") if apart and is_stacked else first, config.frozen
            )

        return Tree({name: jax.eval_shape(make, first)})

    def _typed(self, params: Any) -> Decoder:
        apart = isinstance(params["layers"], tuple)
        dtype = jnp.dtype(params["embed"]["table"].dtype).name
        return replace(self.body, dtype=dtype, unroll=apart or self.body.unroll)


def kept(params: Any, kind: str) -> Any:
    """A copy of parameters that are not trained, in a type; quantized weights stay what they are.

    Those that round activations do so no more: rounding has no gradient.
    """

    def one(leaf: Any) -> Any:
        leaf = replace(leaf, dynamic=False) if isinstance(leaf, PerChannel) else leaf
        return jax.tree.map(jnp.array, leaf.astype(kind))

    return jax.tree.map(one, params, is_leaf=is_weight)


def _cast(params: Any, kind: Any) -> Any:
    return jax.tree.map(lambda x: x.astype(kind), params, is_leaf=is_weight)


def _score() -> Dense:
    return Dense(1, bias=False, axes=("embed", None), weight_init=zeros)


def _body_of(params: Mapping[str, Any]) -> Tree:
    return Tree({name: x for name, x in params.items() if name not in (_SCORE, _CRITIC)})


def numbered(tree: Any) -> Any:
    """A tree by names, with tuples where the names are 0, 1, 2…"""
    if not isinstance(tree, Mapping):
        return tree
    if tree and all(name.isdigit() for name in tree):
        return tuple(numbered(tree[str(number)]) for number in range(len(tree)))
    return Tree({name: numbered(x) for name, x in tree.items()})
