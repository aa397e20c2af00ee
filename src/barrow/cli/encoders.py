"""An encoder and its tokenizer, as the verbs that use one open them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.models import locate_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from barrow.models.roberta import Roberta
    from barrow.models.roberta_heads import RobertaWithHead
    from barrow.tokens import Tokenizer

ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="DIR",
        help="A Hugging Face folder of RoBERTa, or what `models get` fetched.",
        show_default=False,
    ),
]
Truncate = Annotated[
    bool, typer.Option("--truncate", help="Cut texts past the model's positions, and say so.")
]


def open_encoder(
    model: str, *, tokenizer: str | None, dtype: str | None, layer: int | None = None
) -> tuple[Roberta | RobertaWithHead, Mapping[str, Any], Tokenizer]:
    """The model, its parameters and its tokenizer; with `layer`, nothing past that is read."""
    import jax

    import barrow.models
    from barrow.models import Decoder
    from barrow.models.compile_cache import keep_compiled
    from barrow.models.text import open_tokenizer
    from barrow.weights.fetch_settings import cache_folder

    keep_compiled(cache_folder(os.environ) / "compiled")
    # A CPU computes bfloat16 and float16 through float32, several times slower.
    if dtype is None and jax.default_backend() == "cpu":
        dtype = "float32"
    past = None if layer is None or layer < 0 else max(1, layer)
    loaded = barrow.models.load(locate_model(model), dtype=dtype, apart=True, num_layers=past)
    if isinstance(loaded.model, Decoder):
        raise ValueError(
            f"{model} holds a decoder, which sees nothing to its right; this wants an encoder "
            "(roberta): see `barrow generate`"
        )
    reader = (
        open_tokenizer(loaded.tokenizer, settings=loaded.tokenizer_config)
        if tokenizer is None
        else open_tokenizer(tokenizer)
    )
    return loaded.model, loaded.params, reader
