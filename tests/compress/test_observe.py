from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.models.roberta_models import make

from barrow.compress.observe import kernels, observed
from barrow.models.load import load

RNG = np.random.default_rng(0)


def gpt2() -> Any:
    settings = {"vocab_size": 97, "n_positions": 32, "n_embd": 16, "n_layer": 2, "n_head": 2}
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


@pytest.mark.parametrize("family", ["gpt2", "roberta"])
def test_moments_are_those_that_transformers_sees(family: str, tmp_path: Path) -> None:
    """PyTorch's hooks on the layers give the inputs of the same weights."""
    if family == "gpt2":
        theirs = gpt2()
        names = {
            "layers/1/attention/v/kernel": "transformer.h.1.attn.c_attn",
            "layers/0/attention/out/kernel": "transformer.h.0.attn.c_proj",
            "layers/1/mlp/down/kernel": "transformer.h.1.mlp.c_proj",
        }
    else:
        theirs = make("bare")
        names = {
            "layers/1/attention/k/kernel": "encoder.layer.1.attention.self.key",
            "layers/0/attention/out/kernel": "encoder.layer.0.attention.output.dense",
            "layers/1/mlp/up/kernel": "encoder.layer.1.intermediate.dense",
        }
    theirs.save_pretrained(tmp_path)
    loaded = load(tmp_path, unstack=True)
    rows = RNG.integers(3, 90, (6, 20)).astype(np.int32)  # not a whole number of batches
    seen: dict[str, list[np.ndarray]] = {path: [] for path in names}
    for path, name in names.items():
        theirs.get_submodule(name).register_forward_hook(
            lambda _, x, y, path=path: seen[path].append(x[0].detach().numpy())
        )
    # Batches are of 4 rows; the last is filled up with its own.
    with torch.inference_mode():
        theirs(torch.from_numpy(rows[[0, 1, 2, 3, 4, 5, 4, 5]].astype(np.int64)))
    parts = list(observed(loaded.model, loaded.params, rows, products=True))
    found = {path: moments for part in parts for path, moments in part.items()}
    assert found.keys() == kernels(loaded.params).keys()
    for path, arrays in seen.items():
        x = arrays[0].reshape(-1, arrays[0].shape[-1]).astype(np.float64)
        moments = found[path]
        np.testing.assert_allclose(moments.squares, (x**2).mean(axis=0), rtol=1e-3)
        np.testing.assert_allclose(moments.largest, np.abs(x).max(axis=0), rtol=1e-3)
        np.testing.assert_allclose(moments.products, x.T @ x, rtol=1e-3, atol=1e-2)
