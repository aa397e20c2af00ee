from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.checkpoint import save_params
from barrow.models import Decoder, DecoderConfig, RobertaConfig, family_table, save
from barrow.models.load import load
from barrow.models.roberta import Roberta
from barrow.models.roberta_heads import ClassificationHead, RegressionHead, TokenHead
from barrow.nn.tree import paths
from barrow.train.finetune_start import make_head, pretrained


@pytest.mark.parametrize(("kind", "left"), [("mlm", ("lm_head",)), ("tag", ("classifier",))])
def test_a_body_is_taken_over(
    kind: str, left: tuple[str, ...], roberta_folder: Callable[[str], Path]
) -> None:
    """ROBERTA-3: what was taken, what was left, and what is new, in words."""
    start = pretrained(roberta_folder(kind))
    assert start.left == left
    model, params = start.with_head("classify", 3, seed=0)
    loaded = load(roberta_folder(kind))
    assert (params["embed"]["table"] == loaded.params["embed"]["table"]).all()
    whole = loaded.params["layers"]["mlp"]["up"]["kernel"]
    np.testing.assert_array_equal(params["layers"][1]["mlp"]["up"]["kernel"], whole[1])
    assert params["classifier"]["out_proj"]["kernel"].shape == (32, 3)
    assert (model.head.num, model.config.mlm_head, model.config.pooler) == (3, False, False)
    told = start.in_words(params["classifier"])
    assert told == f"27,776 parameters taken over; left: {left[0]}; new: classifier, 1,155"


def test_a_run_is_as_good_as_the_folder_made_of_it(tmp_path: Path) -> None:
    config = RobertaConfig(259, 16, 2, 2, 16, 18)
    model = Roberta(config)
    params = jax.jit(model.init)(jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    about = {"model": family_table(config), "tokenizer": "bytes"}
    save_params(tmp_path / "run" / "checkpoints" / "step-000000003", params, about)
    save(tmp_path / "files", model, params, tokenizer="bytes")
    ours, theirs = pretrained(tmp_path / "run"), pretrained(tmp_path / "files")
    assert (ours.left, ours.config) == (theirs.left, theirs.config) == (("lm_head",), ours.config)
    found, wanted = paths(ours.params), paths(theirs.params)
    assert list(found) == list(wanted)
    for path, x in found.items():
        np.testing.assert_array_equal(x, wanted[path], err_msg=path)


def test_heads() -> None:
    config = RobertaConfig(330, 32, 2, 4, 48, 66, dropout=0.25, init_std=0.1)
    assert make_head("classify", 4, config) == ClassificationHead(4, 0.25, 0.1)
    assert make_head("tag", 4, config) == TokenHead(4, 0.25, 0.1)
    assert make_head("regress", 0, config) == RegressionHead(1, 0.25, 0.1)


def test_a_decoder_is_refused(tmp_path: Path) -> None:
    model = Decoder(DecoderConfig(vocab_size=16, width=8, layers=1, heads=1, hidden=8, context=8))

    params = jax.jit(model.init)(jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    save(tmp_path, model, params)
    with pytest.raises(ValueError, match="holds a Decoder, .* needs a Roberta"):
        pretrained(tmp_path)
