"""Write a model as a folder that `transformers` opens; quantized weights are expanded."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

from barrow.models.decoder.model import Decoder
from barrow.models.open_model import open_model
from barrow.models.quantized import is_quantized_tree
from barrow.models.roberta.heads import RobertaWithHead
from barrow.models.roberta.model import Roberta
from barrow.models.save import save
from barrow.nn.dot import as_array
from barrow.nn.layers.repeat import put_together
from barrow.nn.weights.kernels import is_weight


def export_hf(
    path: str | os.PathLike[str], out: str | os.PathLike[str], *, trust: Collection[str] = ()
) -> None:
    """The model of a run, a checkpoint, a folder or a file, as `transformers` has it."""
    if Path(out).exists():
        raise ValueError(f"{out} already exists; choose another folder")
    loaded = open_model(path, trust=trust)
    model: Any = loaded.model
    if not isinstance(model, Decoder | Roberta | RobertaWithHead):
        kind = type(model).__name__
        raise ValueError(
            f"export --to hf lacks {kind}; of a run, `barrow checkpoint convert --to hf` writes it"
        )
    params = loaded.params
    if is_quantized_tree(params):
        loaded = open_model(path, unstack=True, trust=trust)
        model = loaded.model
        apart = jax.tree.map(as_array, loaded.params, is_leaf=is_weight)
        params = put_together(apart, "layers")
        if isinstance(model, RobertaWithHead):
            model = replace(model, body=replace(model.body, unroll=False))
        else:
            model = replace(model, unroll=False)
    save(
        out,
        model,
        params,
        tokenizer=loaded.tokenizer,
        begin=loaded.begin,
        stops=loaded.stops,
        labels=loaded.labels,
    )
