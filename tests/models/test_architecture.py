from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from barrow.errors import WeightsError
from barrow.models import Decoder, DecoderConfig, Roberta
from barrow.models.architecture import written_as
from barrow.models.card import card
from barrow.models.load import load


@pytest.fixture
def folder(roberta_folder: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of a masked language model, to be changed."""
    return Path(shutil.copytree(roberta_folder("mlm"), tmp_path / "model"))


def change(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    tensors = load_file(folder / "model.safetensors")
    edit(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def test_every_key_of_an_older_file_is_explained(folder: Path) -> None:
    """ROBERTA-4: the tied decoder, position_ids, a pooler: no unexplained key."""
    assert "no pooler; hidden states and masked tokens do not need it" in str(load(folder).report)

    def edit(tensors: dict[str, Any]) -> None:
        table = tensors["roberta.embeddings.word_embeddings.weight"]
        tensors["lm_head.decoder.weight"] = table.copy()
        tensors["lm_head.decoder.bias"] = tensors["lm_head.bias"].copy()
        tensors["roberta.embeddings.position_ids"] = np.arange(66)[None]
        tensors["roberta.pooler.dense.weight"] = np.ones((32, 32), np.float32)
        tensors["roberta.pooler.dense.bias"] = np.ones(32, np.float32)

    change(folder, edit)
    loaded = load(folder)
    assert loaded.report.is_exact
    assert loaded.report.reasons == {
        "lm_head.decoder.weight": "the table of embeddings again",
        "lm_head.decoder.bias": "lm_head.bias again",
        "roberta.embeddings.position_ids": "counted here",
    }
    said = str(loaded.report)
    assert "lm_head.decoder.weight (the table of embeddings again)" in said
    assert "with a pooler, used by `pooled`" in said
    assert isinstance(loaded.model, Roberta)
    assert loaded.model.config.pooler
    assert loaded.params["pooler"]["kernel"].shape == (32, 32)


def test_strangers_and_losses_are_errors(folder: Path) -> None:
    def edit(tensors: dict[str, Any]) -> None:
        tensors["roberta.stranger"] = np.ones(3, np.float32)
        del tensors["lm_head.layer_norm.bias"]

    change(folder, edit)
    with pytest.raises(WeightsError) as caught:
        load(folder)
    assert "1 unexpected: roberta.stranger" in str(caught.value)
    assert "1 missing: lm_head.layer_norm.bias" in str(caught.value)
    made = load(folder, strict=False, unstack=True)
    assert not made.params["lm_head"]["norm"]["bias"].any()


def test_the_first_layers_alone(folder: Path) -> None:
    loaded = load(folder, num_layers=1)
    assert loaded.model.config.layers == 1
    reason = "of a layer that was not asked for"
    assert loaded.report.reasons["roberta.encoder.layer.1.output.dense.bias"] == reason
    whole = load(folder)
    first = jax.tree.map(lambda x: x[:1], whole.params["layers"])
    assert all(
        map(np.array_equal, jax.tree.leaves(first), jax.tree.leaves(loaded.params["layers"]))
    )
    with pytest.raises(ValueError, match="num_layers must be from 1 to 2, got 3"):
        load(folder, num_layers=3)
    change(folder, lambda t: t.update({"roberta.encoder.layer.7.x": np.ones(1, np.float32)}))
    with pytest.raises(WeightsError, match=r"unexpected: roberta.encoder.layer.7.x"):
        load(folder, num_layers=1)


def test_of_decoders_all_layers_are_read(folder: Path) -> None:
    config = {"model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 9}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="layers= is for encoders"):
        load(folder, num_layers=1)


def test_keys_decide_where_the_config_names_no_architecture(
    roberta_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    for kind in ("classify", "tag", "bare"):
        folder = Path(shutil.copytree(roberta_folder(kind), tmp_path / kind))
        expected = load(folder).model
        told = json.loads((folder / "config.json").read_text())
        del told["architectures"]
        (folder / "config.json").write_text(json.dumps(told))
        assert load(folder).model == expected


def test_a_card(roberta: Any, roberta_folder: Callable[[str], Path]) -> None:
    found = card(roberta_folder("mlm"))
    assert found.family == "roberta"
    assert found.num_params == roberta.num_parameters("mlm")
    assert found.has_tokenizer


def test_decoders_have_no_labels() -> None:
    with pytest.raises(ValueError, match="a decoder has no labels"):
        written_as(Decoder(DecoderConfig()), ("x",))
