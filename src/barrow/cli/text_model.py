"""A model of texts, as the verbs that run one open it."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

from barrow.cli.models import locate_model

if TYPE_CHECKING:
    from barrow.models import Loaded
    from barrow.tokens import Tokenizer


def open_text_model(
    name: str,
    *,
    tokenizer: str | None,
    dtype: str | None,
    num_layers: int | None = None,
    trust: Collection[str] | None = None,
) -> tuple[Loaded, Tokenizer]:
    """A model with its layers apart, and its tokenizer: of files, or of a run or checkpoint.

    Of an encoder's files no more than `num_layers` layers are read.
    """
    import jax

    from barrow.models.compile_cache import keep_compiled
    from barrow.models.open_model import open_model
    from barrow.models.text import open_tokenizer
    from barrow.weights.cache import cache_folder

    keep_compiled(cache_folder(os.environ) / "compiled")
    # A CPU computes bfloat16 and float16 through float32, several times slower.
    if dtype is None and jax.default_backend() == "cpu":
        dtype = "float32"
    loaded = open_model(
        locate_model(name), dtype=dtype, apart=True, num_layers=num_layers, trust=trust or ()
    )
    if tokenizer is not None:
        return loaded, open_tokenizer(tokenizer)
    return loaded, open_tokenizer(loaded.tokenizer, settings=loaded.tokenizer_config)
