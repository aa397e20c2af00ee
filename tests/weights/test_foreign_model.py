from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.goldens import golden, settings_of

from barrow.weights.foreign_model import (
    ForeignModel,
    llama_config,
    save_huggingface,
    tokenizer_config,
)
from barrow.weights.tensors import lazy

CONFIG = llama_config(
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=100,
    max_position_embeddings=256,
    rms_norm_eps=1e-6,
    rope_theta=500000.0,
    tie_word_embeddings=True,
    bos_token_id=1,
    eos_token_id=None,
)


@golden("transformers")
def opened_by_transformers(config: Path) -> Any:
    """Its class, and all settings."""
    from transformers import AutoConfig

    opened = AutoConfig.from_pretrained(config)
    return type(opened).__name__, settings_of(opened)


def test_a_folder_that_transformers_understands(tmp_path: Path) -> None:
    roles = tokenizer_config(special={"bos_token": "<s>"}, begins=True, max_length=256)
    model = ForeignModel(CONFIG, lazy({"a": np.ones(3)}), {"version": "1.0"}, roles)
    written = save_huggingface(tmp_path / "m", model)
    kind, config = opened_by_transformers(tmp_path / "m/config.json")
    assert kind == "LlamaConfig"
    names = ("hidden_size", "head_dim", "num_key_value_heads")
    assert [config[name] for name in names] == [64, 16, 2]
    assert config["rope_parameters"]["rope_theta"] == 500000.0
    assert config["tie_word_embeddings"] is True
    assert json.loads((tmp_path / "m" / "tokenizer.json").read_text()) == {"version": "1.0"}
    saved = json.loads((tmp_path / "m" / "tokenizer_config.json").read_text())
    assert saved["bos_token"] == "<s>"
    assert "chat_template" not in saved
    assert written.files[0].path == tmp_path / "m" / "model.safetensors"


def test_without_a_tokenizer_and_never_over_another(tmp_path: Path) -> None:
    model = ForeignModel(CONFIG, lazy({"a": np.ones(3)}))
    save_huggingface(tmp_path / "m", model)
    assert not (tmp_path / "m" / "tokenizer.json").exists()
    with pytest.raises(ValueError, match="already contains a model"):
        save_huggingface(tmp_path / "m", model)
