"""An encoder and its tokenizer, as the verbs that use one open them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from barrow.models.roberta.heads import RobertaWithHead
    from barrow.models.roberta.model import Roberta
    from barrow.tokens import Tokenizer
import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from barrow.cli.model.models import locate_model

if TYPE_CHECKING:
    from barrow.models import Loaded
    from barrow.tokens import Tokenizer


ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="DIR",
        help="A run or checkpoint of RoBERTa, a Hugging Face folder, an exported .onnx file, or "
        "what `model get` fetched.",
        show_default=False,
    ),
]
Truncate = Annotated[
    bool, typer.Option("--truncate", help="Cut texts past the model's positions, with a warning.")
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
    from barrow.models.onnx.model import OnnxModel
    from barrow.models.open_model import of_kind
    from barrow.models.roberta.heads import RobertaWithHead
    from barrow.models.roberta.model import Roberta, RobertaConfig

    past = None if layer is None or layer < 0 else max(1, layer)
    loaded, reader = open_text_model(
        model, tokenizer=tokenizer, dtype=dtype, num_layers=past, trust=trust
    )
    found: Any = loaded.model
    if not isinstance(found, OnnxModel) or not isinstance(found.config, RobertaConfig):
        found = of_kind(loaded, model, Roberta, RobertaWithHead)
    return found, loaded.params, reader


def open_text_model(
    name: str,
    *,
    tokenizer: str | None,
    dtype: str | None,
    num_layers: int | None = None,
    trust: Collection[str] | None = None,
    tensor: int = 1,
) -> tuple[Loaded, Tokenizer]:
    """A model with unstacked layers, and its tokenizer: of files, or of a run or checkpoint.

    Of an encoder's files no more than `num_layers` layers are read. `tensor` devices share the
    parameters.
    """
    import jax

    from barrow.models.compile_cache import keep_compiled
    from barrow.models.open_model import open_model
    from barrow.models.text import open_tokenizer
    from barrow.parallel import placing_over
    from barrow.weights.hub.cache import cache_folder

    keep_compiled(cache_folder(os.environ) / "compiled")
    # A CPU computes bfloat16 and float16 through float32, several times slower.
    if dtype is None and jax.default_backend() == "cpu":
        dtype = "float32"
    loaded = open_model(
        locate_model(name),
        dtype=dtype,
        unstack=True,
        num_layers=num_layers,
        trust=trust or (),
        place=placing_over(tensor),
    )
    if tokenizer is not None:
        return loaded, open_tokenizer(tokenizer)
    return loaded, loaded.words.open()
