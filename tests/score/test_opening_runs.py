from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.checkpoint import save_params
from barrow.errors import CheckpointError, NotFound
from barrow.models import Decoder, DecoderConfig, family_table, save
from barrow.score import ModelOptions, open_model

CONFIG = DecoderConfig(vocab_size=259, width=16, layers=2, heads=2, hidden=16, context=16)


@pytest.fixture(scope="module")
def params() -> Any:
    shapes = jax.eval_shape(Decoder(CONFIG).init, jax.random.key(0), jnp.zeros((1, 1), jnp.int32))
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.3 * rng.standard_normal(s.shape), s.dtype), shapes)


def test_a_checkpoint_scores_as_the_folder_it_is_converted_to(tmp_path: Path, params: Any) -> None:
    run = {"data": {"batch": 4, "seq_len": 8}}
    about = {"model": family_table(CONFIG), "tokenizer": "bytes", "run": run}
    save_params(tmp_path / "saved", params, about)
    save(tmp_path / "hf", Decoder(CONFIG), params, tokenizer="bytes")
    ours = open_model(str(tmp_path / "saved"))
    other = open_model(str(tmp_path / "hf"))
    texts = [b"the barrow and the mound", b"", b"x"]
    for a, b in zip(ours.score(texts), other.score(texts), strict=True):  # type: ignore[union-attr]
        assert a.nats == pytest.approx(b.nats, rel=1e-6)
    assert ours.info.num_params == other.info.num_params
    assert ours.info.about["run"] == run
    assert ours.info.train_tokens is None  # parameters alone have no step


def test_one_that_says_no_model_or_no_tokenizer(tmp_path: Path, params: Any) -> None:
    save_params(tmp_path / "a", params)
    with pytest.raises(CheckpointError, match="does not name its model"):
        open_model(str(tmp_path / "a"))
    save_params(tmp_path / "b", params, {"model": family_table(CONFIG)})
    with pytest.raises(NotFound, match="no tokenizer"):
        open_model(str(tmp_path / "b"))
    assert open_model(str(tmp_path / "b"), ModelOptions(tokenizer="bytes")).info.name == "b"
