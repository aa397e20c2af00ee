"""An encoder and its tokenizer, as the verbs that use one open them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.text_model import open_text_model

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
        help="A run or checkpoint of RoBERTa, a Hugging Face folder, or what `models get` fetched.",
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
    from barrow.models import Decoder

    past = None if layer is None or layer < 0 else max(1, layer)
    loaded, reader = open_text_model(model, tokenizer=tokenizer, dtype=dtype, num_layers=past)
    if isinstance(loaded.model, Decoder):
        raise ValueError(
            f"{model} holds a decoder, which sees nothing to its right; this wants an encoder "
            "(roberta): see `barrow generate`"
        )
    return loaded.model, loaded.params, reader
