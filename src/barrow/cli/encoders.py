"""An encoder and its tokenizer, as the verbs that use one open them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from barrow.cli.text_model import open_text_model

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

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
    model: str,
    *,
    tokenizer: str | None,
    dtype: str | None,
    layer: int | None = None,
    trust: Collection[str] | None = None,
) -> tuple[Roberta | RobertaWithHead, Mapping[str, Any], Tokenizer]:
    """The model, its parameters and its tokenizer; with `layer`, nothing past that is read."""
    from barrow.models.open_model import of_kind
    from barrow.models.roberta import Roberta
    from barrow.models.roberta_heads import RobertaWithHead

    past = None if layer is None or layer < 0 else max(1, layer)
    loaded, reader = open_text_model(
        model, tokenizer=tokenizer, dtype=dtype, num_layers=past, trust=trust
    )
    found: Any = of_kind(loaded, model, Roberta, RobertaWithHead)
    return found, loaded.params, reader
