"""The model that a run starts from: its words, and its parameters in a state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from barrow import config
from barrow.align.data.rows import Words, words_of
from barrow.align.model import BASE, REFERENCE, AlignedConfig
from barrow.errors import ConfigError
from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.models.load import Loaded
from barrow.models.open_model import of_kind, open_model
from barrow.nn.tree import Tree
from barrow.train.program import Program
from barrow.train.run import Run
from barrow.train.state import TrainState


@lru_cache(maxsize=2)
def described(init: str) -> tuple[DecoderConfig, Loaded]:
    """The architecture of a model, and what its files say, without its parameters."""
    loaded = open_model(init)
    decoder = of_kind(loaded, init, Decoder)
    return decoder.config, replace(loaded, params=Tree())


@lru_cache(maxsize=2)
def open_words(init: str, tokenizer: str, template: str) -> Words:
    """The tokenizer and the chat template of a run."""
    architecture, loaded = described(init)
    words = words_of(loaded, tokenizer=tokenizer, template=template)
    if words.tokenizer.vocab_size > architecture.vocab_size:
        raise ConfigError(
            f"the tokenizer has {words.tokenizer.vocab_size:,} ids, but the model {init} has "
            f"{architecture.vocab_size:,}; pass the tokenizer that it was trained with"
        )
    return words


def started(
    run: Run, program: Program, *, apart: bool, more: Mapping[str, Any] | None = None
) -> TrainState:
    """The initial state: parameters of `run.init`, copies of what stays as it is, and `more`."""
    settings = run.model
    assert isinstance(settings, AlignedConfig)
    loaded = open_model(run.init, dtype="float32", unstack=apart, trust=config.outside(run))
    of_kind(loaded, run.init, Decoder)
    frozen: dict[str, Any] = {}

    def kept() -> Any:
        return jax.tree.map(lambda x: jnp.array(x, settings.frozen), loaded.params)

    if settings.lora is not None:
        frozen[BASE] = kept()
        state = program.start({})
    else:
        if settings.reference:
            frozen[REFERENCE] = kept()
        given = _by_path(loaded.params)
        if settings.head == "own":
            wanted = _by_path(program.shapes.params)
            given |= {
                f"critic/{path}": jnp.array(x)
                for path, x in given.items()
                if f"critic/{path}" in wanted
            }
        state = program.start(given)
    placed = jax.device_put(Tree({**frozen, **(more or {})}), program.shardings.collections)
    return replace(state, collections=placed)


def _by_path(tree: Any) -> dict[str, Any]:
    found = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in found}
