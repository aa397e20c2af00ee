from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file
from tests.goldens import golden

from barrow import nn
from barrow.errors import WeightsError
from barrow.models import Decoder, DecoderConfig, save
from barrow.models.load import load
from barrow.nn.attention.rotary import RopeScaling, Rotary

TOKENS = np.random.default_rng(0).integers(0, 50, (2, 12))
LLAMA = {"norm": "rms", "gated": True, "activation": "silu"}
NO_BIAS = {"attention_bias": False, "out_bias": False, "mlp_bias": False}
SHAPES: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "gpt2 untied": {"tied": False, "activation": "gelu", "hidden": 20},
    "gpt_neox": {"rotary": Rotary(dim=2), "norms": "parallel", "tied": False},
    "gpt_neox sequential": {"rotary": Rotary(2000.0), "attention_bias": False, "out_bias": False},
    "llama": {**LLAMA, **NO_BIAS, "rotary": Rotary(), "kv_heads": 2, "tied": False},
    "llama stretched": {
        **LLAMA,
        "rotary": Rotary(500.0, stretch=RopeScaling(8.0, 1.0, 4.0, 16)),
        "head_dim": 6,
    },
    "llama linear": {**LLAMA, **NO_BIAS, "rotary": Rotary(stretch=RopeScaling(2.0))},
    "qwen2": {**LLAMA, **NO_BIAS, "attention_bias": True, "rotary": Rotary(), "kv_heads": 1},
    "qwen3": {**LLAMA, **NO_BIAS, "rotary": Rotary(), "qk_norm": "head", "head_dim": 6},
    "mixtral": {**LLAMA, **NO_BIAS, "rotary": Rotary(), "experts": nn.Routing(4, 2)},
    "olmo2": {**LLAMA, **NO_BIAS, "rotary": Rotary(), "qk_norm": "all", "norms": "after"},
    "olmoe": {
        **LLAMA,
        **NO_BIAS,
        "rotary": Rotary(),
        "qk_norm": "all",
        "experts": nn.Routing(4, 2, normalise=False),
    },
    "qwen3_moe": {
        **LLAMA,
        **NO_BIAS,
        "rotary": Rotary(),
        "qk_norm": "head",
        "experts": nn.Routing(4, 3),
    },
}


def drawn(model: nn.Module, *args: Any) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *args)
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), s.dtype), shapes)


def made(**settings: Any) -> tuple[Decoder, Any]:
    sizes = {"vocab_size": 50, "width": 16, "layers": 2, "heads": 4, "hidden": 24, "context": 64}
    config = DecoderConfig(**{**sizes, "init_std": 0.3, **settings})
    model = Decoder(config)
    return model, drawn(model, jnp.asarray(TOKENS))


@partial(jax.jit, static_argnums=0)
def logits_of(model: Decoder, params: Any) -> jax.Array:
    logits, _ = model.apply(params, jnp.asarray(TOKENS))
    return logits


@golden("torch", "transformers", atol=1e-5)
def by_transformers(folder: Path) -> Any:
    """Logits of a folder that barrow wrote, and what `transformers` says of it."""
    import torch
    import transformers

    model, keys = transformers.AutoModelForCausalLM.from_pretrained(
        folder, output_loading_info=True, dtype="auto"
    )
    assert not keys["missing_keys"]
    assert not keys["unexpected_keys"]
    with torch.no_grad():
        logits = model.eval()(torch.tensor(TOKENS)).logits.float()
    stops = model.generation_config.eos_token_id
    return logits, model.config.model_type, str(model.dtype), stops


@pytest.mark.parametrize("shape", SHAPES)
def test_transformers_opens_it(shape: str, tmp_path: Path) -> None:
    """Both directions: ours saved gives our logits in `transformers`, and opens here again."""
    model, params = made(**SHAPES[shape])
    report = save(tmp_path / "m", model, params)
    assert report.is_exact
    assert len(report.matched) == len(nn.paths(params))
    expected, family, _, _ = by_transformers(tmp_path / "m")
    assert family == shape.split()[0]
    ours = logits_of(model, params)
    np.testing.assert_allclose(ours, expected, atol=1e-4)
    again = load(tmp_path / "m")
    assert np.array_equal(logits_of(again.model, again.params), ours)
    assert jax.tree.structure(again.params) == jax.tree.structure(params)


def test_shards_types_and_ids(tmp_path: Path) -> None:
    model, params = made()
    save(
        tmp_path / "m",
        model,
        params,
        dtype="bfloat16",
        begin=3,
        stops=(4, 5),
        max_shard_bytes=3000,
        tokenizer={"model": {"type": "BPE"}},
    )
    assert (tmp_path / "m" / "model.safetensors.index.json").exists()
    loaded = load(tmp_path / "m")
    assert loaded.model.dtype == "bfloat16"
    assert (loaded.begin, loaded.stops) == (3, (4, 5))
    assert loaded.tokenizer == tmp_path / "m"
    _, _, dtype, stops = by_transformers(tmp_path / "m")
    assert dtype == "torch.bfloat16"
    assert stops == [4, 5]
    exact = params["layers"]["mlp"]["up"]["kernel"]
    low = loaded.params["layers"]["mlp"]["up"]["kernel"]
    assert np.array_equal(low, exact.astype(jnp.bfloat16))


def test_a_tokenizer_folder_is_copied(tmp_path: Path) -> None:
    source = tmp_path / "tokenizer"
    source.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "merges.txt", "secret.txt"):
        (source / name).write_text(name)
    model, params = made()
    save(tmp_path / "m", model, params, tokenizer=source)
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert {"tokenizer.json", "tokenizer_config.json", "merges.txt"} < names
    assert "secret.txt" not in names
    save(tmp_path / "n", model, params, tokenizer=source / "tokenizer.json")
    assert (tmp_path / "n" / "tokenizer.json").read_text() == "tokenizer.json"
    save(tmp_path / "o", model, params, tokenizer="bytes")
    assert json.loads((tmp_path / "o" / "tokenizer.json").read_text())["model"]


def test_a_changed_file_of_a_saved_model_is_noticed(tmp_path: Path) -> None:
    model, params = made()
    save(tmp_path / "m", model, params, tokenizer="bytes")
    changed = {"model.safetensors": -1, "config.json": None}
    changed |= {"generation_config.json": None, "tokenizer.json": None}
    for name, at in changed.items():
        file = tmp_path / "m" / name
        whole = file.read_bytes()
        if at is None:
            file.write_bytes(whole + b"\n")
            with pytest.warns(UserWarning, match=f"m: {name} changed after the model was written"):
                load(tmp_path / "m")
        else:
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]))
            with pytest.raises(WeightsError, match="the checksum differs"):
                load(tmp_path / "m")
        file.write_bytes(whole)


def test_parameters_of_another_model_are_refused(tmp_path: Path) -> None:
    model, params = made()
    other, _ = made(tied=False)
    with pytest.raises(ValueError, match="1 missing: head/kernel"):
        save(tmp_path / "m", other, params)
    with pytest.raises(ValueError, match="1 unexpected: stranger"):
        save(tmp_path / "m", model, params | {"stranger": jnp.zeros(2)})
    with pytest.raises(ValueError, match=r"norm/scale: expected \[16\], found \[3\]"):
        save(tmp_path / "m", model, params | {"norm": {"scale": jnp.ones(3), "bias": jnp.ones(16)}})
    with pytest.raises(ValueError, match="the layers are not stacked"):
        save(tmp_path / "m", model, nn.take_apart(params, "layers"))
    assert not (tmp_path / "m").exists()


def test_a_folder_with_a_model_is_not_overwritten(tmp_path: Path) -> None:
    model, params = made()
    save(tmp_path / "m", model, params)
    with pytest.raises(ValueError, match="already contains a model"):
        save(tmp_path / "m", model, params)


def test_theirs_through_ours(folder_of: Callable[..., Path], tmp_path: Path) -> None:
    """Loaded and saved, every tensor of theirs is what it was, to the bit."""
    folder = folder_of("gpt_neox")
    loaded = load(folder)
    save(tmp_path / "again", loaded.model, loaded.params)
    before, again = (load_file(x / "model.safetensors") for x in (folder, tmp_path / "again"))
    assert set(again) == set(before)
    assert all(np.array_equal(again[name], before[name]) for name in before)
