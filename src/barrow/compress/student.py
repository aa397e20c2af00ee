"""A student: fewer of the teacher's layers, and the run that trains it."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.checkpoint.params import save_params
from barrow.compress.distil import Distil
from barrow.errors import ConfigError
from barrow.models.decoder.model import Decoder, DecoderConfig
from barrow.models.family import family_table
from barrow.models.load import Loaded
from barrow.models.open_model import open_model
from barrow.models.quantized import is_quantized_tree
from barrow.models.roberta.model import Roberta, RobertaConfig
from barrow.stream import StreamSettings
from barrow.train.run import Run


def chosen_layers(teacher: int, student: int) -> tuple[int, ...]:
    """Which of the teacher's layers a student starts from: evenly spread, first and last in.

    Of 12 layers 6 are 0, 2, 4, 7, 9 and 11, DistilRoBERTa's.
    """
    if student < 1 or student > teacher or teacher % student:
        raise ValueError(
            f"a student of {student} layers does not divide the teacher's {teacher}; "
            f"{', '.join(str(n) for n in range(1, teacher + 1) if teacher % n == 0)} do"
        )
    spread = np.rint(np.linspace(0, teacher - 1, student)).astype(int)
    return tuple(int(i) for i in spread)


def student_of(teacher: Loaded, layers: int) -> tuple[Any, Any]:
    """A shallower model with every other parameter of the teacher: its settings, its parameters."""
    model: Any = teacher.model
    if not isinstance(model, Decoder | Roberta):
        kind = type(model).__name__
        raise ValueError(f"the teacher is a {kind}; distillation takes decoders and RoBERTa")
    if is_quantized_tree(teacher.params):
        raise ValueError("the teacher is quantized; pass the model that it was made from")
    chosen = np.array(chosen_layers(model.config.layers, layers))
    kept = jax.tree.map(lambda x: jnp.asarray(x)[chosen], teacher.params["layers"])
    return replace(model.config, layers=layers), teacher.params | {"layers": kept}


def distil_run(
    teacher: str | os.PathLike[str],
    recipe: Run,
    out: str | os.PathLike[str],
    *,
    trust: Collection[str] = (),
) -> Run:
    """The run that trains a student with as many layers as a recipe's model.

    The student's other settings are the teacher's; its first parameters are written to OUT/init.
    Where the recipe has no objective, it is `Distil` with DistilRoBERTa's weights, for a decoder
    without the cosine.
    """
    path, out = os.fspath(teacher), Path(out)
    loaded = open_model(path, dtype="float32", trust=trust)
    wanted: Any = recipe.model
    kind: Any = type(loaded.family)
    if not isinstance(wanted, kind):
        raise ConfigError(
            f"the recipe trains a {type(wanted).__name__}, and the teacher is a "
            f"{type(loaded.family).__name__}"
        )
    config, params = student_of(loaded, wanted.layers)
    assert isinstance(config, DecoderConfig | RobertaConfig)
    if isinstance(config, RobertaConfig):
        config = replace(config, dropout=wanted.dropout)
    if not (out / "init").exists():
        tokenizer = loaded.tokenizer
        named = os.fspath(tokenizer) if isinstance(tokenizer, str | Path) else None
        save_params(out / "init", params, {"model": family_table(config), "tokenizer": named})
    objective = recipe.objective
    if objective is None:
        objective = default_objective(path, recipe, is_masked=isinstance(config, RobertaConfig))
    return replace(recipe, model=config, init=str(out / "init"), objective=objective)


def default_objective(teacher: str, run: Run, *, is_masked: bool) -> Distil:
    """DistilRoBERTa's, or a decoder's: the same without the cosine."""
    made = Distil(teacher, mask_documents=run.mask_documents)
    if not is_masked:
        return replace(made, cosine=0.0)
    data = run.data
    assert isinstance(data, StreamSettings)
    assert data.mlm is not None
    return replace(made, masked=data.mlm.probability)
