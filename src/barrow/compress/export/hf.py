"""Write a model as a folder that `transformers` opens; quantized weights are expanded."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from barrow.files import atomic_path, new_path
from barrow.models.decoder.model import Decoder
from barrow.models.open_model import open_model
from barrow.models.quantized import expanded
from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.model import Roberta
from barrow.models.save import save


def export_hf(
    path: str | os.PathLike[str], out: str | os.PathLike[str], *, trust: Collection[str] = ()
) -> None:
    """The model of a run, a checkpoint, a folder or a file, as `transformers` has it."""
    out = new_path(out)
    loaded = open_model(path, trust=trust)
    model: Any = loaded.model
    if not isinstance(model, Decoder | Roberta | RobertaWithHead):
        kind = type(model).__name__
        raise ValueError(
            f"export --to hf lacks {kind}; of a run, `barrow checkpoint convert --to hf` writes it"
        )
    if isinstance(model, RobertaWithHead):
        model = replace(model, body=replace(model.body, unroll=False))
    else:
        model = replace(model, unroll=False)
    with atomic_path(out) as part:
        save(part, model, expanded(loaded.params), tokenizer=loaded.words, labels=loaded.labels)
