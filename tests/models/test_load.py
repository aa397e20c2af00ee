from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from barrow import nn
from barrow.errors import NotFound, WeightsError
from barrow.models import generate
from barrow.models.card import card
from barrow.models.load import load
from barrow.parallel import ZERO, bytes_per_device, make_mesh, placing

TOKENS = np.random.default_rng(0).integers(0, 97, (2, 14))
PROMPTS = [TOKENS[0, :7], np.concatenate([TOKENS[1], TOKENS[0, :5]])]


@partial(jax.jit, static_argnames="model")
def run(model: Any, params: Any, tokens: Any, **inputs: Any) -> Any:
    """Logits, compiled: operation by operation they would take seconds."""
    return model.apply(params, tokens, **inputs)[0]


def test_logits_as_in_transformers(every: str, theirs: Any, folder_of: Callable[..., Path]) -> None:
    """Random weights, fp32: logits within 1e-4; every key accounted for."""
    loaded = load(folder_of(every))
    assert loaded.report.is_exact
    assert not loaded.report.ignored
    ours = run(loaded.model, loaded.params, TOKENS)
    np.testing.assert_allclose(ours, theirs.logits(every, TOKENS), atol=1e-4)


@pytest.mark.parametrize(
    "family",
    [
        "gpt2",
        pytest.param("gpt_neox", marks=pytest.mark.soak),
        pytest.param("llama", marks=pytest.mark.soak),
        "llama tied, biased, llama3",
        pytest.param("olmo2", marks=pytest.mark.soak),
        "olmoe",
        pytest.param("mixtral", marks=pytest.mark.soak),
        pytest.param("qwen3_moe", marks=pytest.mark.soak),
    ],
)
def test_greedy_generation_as_in_transformers(
    family: str, theirs: Any, folder_of: Callable[..., Path]
) -> None:
    """64 tokens after prompts of different lengths, unless two logits are within 1e-4."""
    loaded = load(folder_of(family), unstack=True)
    completions = generate(
        loaded.model, loaded.params, [p.tolist() for p in PROMPTS], max_tokens=64
    )
    for prompt, completion in zip(PROMPTS, completions, strict=True):
        expected, best = theirs.greedy(family, prompt, 64)
        assert len(expected) == len(completion.tokens) == 64
        for step, (first, second) in enumerate(best):
            if first - second < 1e-4:
                break  # a tie to the eye of float32; what follows may differ
            assert completion.tokens[step] == expected[step]


def test_shards_are_one_model(theirs: Any, folder_of: Callable[..., Path]) -> None:
    folder = folder_of("llama", max_shard_bytes=20_000)
    assert len(list(folder.glob("*.safetensors"))) > 2
    loaded = load(folder)
    ours = run(loaded.model, loaded.params, TOKENS)
    np.testing.assert_allclose(ours, theirs.logits("llama", TOKENS), atol=1e-4)
    missing = sorted(folder.glob("*.safetensors"))[1]
    missing.unlink()
    with pytest.raises(WeightsError, match=f"missing shard {missing.name}"):
        load(folder)


def stacked(tensors: dict[str, Any]) -> None:
    """One tensor for all experts of a layer, as models of `transformers` hold them."""
    parts = {"gate_up_proj": ("w1", "w3"), "down_proj": ("w2",)}
    for layer in range(2):
        old, new = (f"model.layers.{layer}.{name}." for name in ("block_sparse_moe", "mlp"))
        tensors[f"{new}gate.weight"] = tensors.pop(f"{old}gate.weight")
        for name, theirs in parts.items():
            each = [
                np.concatenate([tensors.pop(f"{old}experts.{e}.{w}.weight") for w in theirs])
                for e in range(4)
            ]
            tensors[f"{new}experts.{name}"] = np.stack(each)


def test_experts_in_one_tensor(theirs: Any, folder_of: Callable[..., Path]) -> None:
    """FLAX-8: files with a tensor for each expert, and with one for all, are the same model."""
    folder = folder_of("mixtral")
    before = load(folder)
    change(folder, stacked)
    after = load(folder)
    assert after.report.is_exact
    assert jax.tree.structure(before.params) == jax.tree.structure(after.params)
    assert all(map(np.array_equal, jax.tree.leaves(before.params), jax.tree.leaves(after.params)))
    held = theirs.digests("mixtral")
    assert "model.layers.0.mlp.experts.gate_up_proj" in held
    for key, value in load_file(folder / "model.safetensors").items():
        assert hashlib.sha256(value.tobytes()).hexdigest() == held[key], key


def test_another_number_of_experts(folder_of: Callable[..., Path]) -> None:
    folder = folder_of("mixtral")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_local_experts": 3}))
    with pytest.raises(WeightsError) as caught:
        load(folder)
    words = str(caught.value)
    assert "block_sparse_moe.gate.weight: expected [3, 32], found [4, 32]" in words
    assert "6 unexpected: model.layers.0.block_sparse_moe.experts.3.w1.weight" in words
    (folder / "config.json").write_text(json.dumps({**config, "num_local_experts": 10**9}))
    with pytest.raises(WeightsError, match="2 layers of 1,000,000,000 experts in config.json, but"):
        load(folder)


def test_layers_apart_are_the_same_numbers(folder_of: Callable[..., Path]) -> None:
    folder = folder_of("gpt2")
    whole, apart = load(folder), load(folder, unstack=True)
    assert isinstance(apart.params["layers"], tuple)
    again = nn.take_apart(whole.params, "layers")
    assert jax.tree.structure(again) == jax.tree.structure(apart.params)
    assert all(map(np.array_equal, jax.tree.leaves(again), jax.tree.leaves(apart.params)))


def test_types(theirs: Any, folder_of: Callable[..., Path]) -> None:
    folder = folder_of("llama")
    low = load(folder, dtype="bfloat16")
    assert {leaf.dtype for leaf in jax.tree.leaves(low.params)} == {jnp.dtype(jnp.bfloat16)}
    assert low.model.dtype == "bfloat16"
    logits = run(low.model, low.params, TOKENS)
    assert logits.dtype == jnp.bfloat16
    expected = theirs.logits("llama", TOKENS)
    assert np.abs(np.asarray(logits, np.float32) - expected).max() < 0.1 * np.abs(expected).max()
    tensors = load_file(folder / "model.safetensors")
    halves = {name: tensor.astype(np.float16) for name, tensor in tensors.items()}
    save_file(halves, folder / "model.safetensors")
    assert load(folder).model.dtype == "float16"
    assert load(folder, dtype="float32").params["norm"]["scale"].dtype == jnp.float32
    with pytest.raises(
        ValueError, match="dtype must be one of float32, bfloat16, float16, got 'int8'"
    ):
        load(folder, dtype="int8")


def change(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    tensors = load_file(folder / "model.safetensors")
    edit(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def test_known_buffers_are_ignored_by_name(folder_of: Callable[..., Path]) -> None:
    def edit(tensors: dict[str, Any]) -> None:
        tensors["transformer.h.0.attn.bias"] = np.ones((1, 1, 8, 8), np.float32)
        tensors["transformer.h.1.attn.masked_bias"] = np.ones((), np.float32)
        tensors["lm_head.weight"] = tensors["transformer.wte.weight"].copy()

    folder = folder_of("gpt2")
    change(folder, edit)
    report = load(folder).report
    assert sorted(report.ignored) == [
        "lm_head.weight",
        "transformer.h.0.attn.bias",
        "transformer.h.1.attn.masked_bias",
    ]
    assert report.is_exact


def test_names_without_the_prefix_open(folder_of: Callable[..., Path]) -> None:
    def edit(tensors: dict[str, Any]) -> None:
        for name in list(tensors):
            tensors[name.removeprefix("transformer.")] = tensors.pop(name)

    folder = folder_of("gpt2")
    change(folder, edit)
    assert load(folder).report.is_exact


def test_keys_that_do_not_match_are_told(folder_of: Callable[..., Path]) -> None:
    """FLAX-8: missing, unexpected and mismatched keys, each by name, with both shapes."""

    def edit(tensors: dict[str, Any]) -> None:
        del tensors["model.norm.weight"]
        tensors["model.layers.7.stranger"] = np.zeros(3, np.float32)
        tensors["model.layers.1.mlp.up_proj.weight"] = np.zeros((5, 32), np.float32)

    folder = folder_of("llama")
    change(folder, edit)
    with pytest.raises(WeightsError) as caught:
        load(folder)
    for words in (
        "1 missing: model.norm.weight",
        "1 unexpected: model.layers.7.stranger",
        "model.layers.1.mlp.up_proj.weight: expected [48, 32], found [5, 32]",
    ):
        assert words in str(caught.value)
    loaded = load(folder, strict=False, seed=3)
    made = loaded.model.init(jax.random.key(3), jnp.zeros((1, 1), jnp.int32))
    assert np.array_equal(loaded.params["norm"]["scale"], made["norm"]["scale"])
    up = loaded.params["layers"]["mlp"]["up"]["kernel"]
    assert np.array_equal(up, made["layers"]["mlp"]["up"]["kernel"])
    apart = load(folder, strict=False, seed=3, unstack=True).params
    assert np.array_equal(apart["layers"][1]["mlp"]["up"]["kernel"], up[1])


def test_a_config_that_contradicts_the_weights(folder_of: Callable[..., Path]) -> None:
    folder = folder_of("llama")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 64}))
    with pytest.raises(
        WeightsError, match=r"mlp.gate_proj.weight: expected \[64, 32\], found \[48, 32\]"
    ):
        load(folder)
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}))
    with pytest.raises(WeightsError, match=r"9 unexpected: model.layers.1.input_layernorm.weight"):
        load(folder)
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 10**9}))
    for open_it in (load, card):
        with pytest.raises(WeightsError, match="1,000,000,000 layers in config.json, but 21 tens"):
            open_it(folder)


def test_damaged_files(folder_of: Callable[..., Path]) -> None:
    folder = folder_of("gpt2")
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    with pytest.raises(WeightsError, match="model.safetensors"):
        load(folder)
    file.write_bytes(struct.pack("<Q", 1 << 40) + whole[8:])
    with pytest.raises(WeightsError, match="model.safetensors"):
        load(folder)
    length = struct.unpack("<Q", whole[:8])[0]
    header = whole[8 : 8 + length].replace(b'"shape":[97,32]', b'"shape":[98,32]')
    assert header != whole[8 : 8 + length]
    file.write_bytes(whole[:8] + header + whole[8 + length :])
    with pytest.raises(WeightsError, match="transformer.wte.weight"):
        load(folder)
    file.unlink()
    with pytest.raises(NotFound, match="has no .safetensors file"):
        load(folder)


def test_a_folder_without_config(folder_of: Callable[..., Path]) -> None:
    folder = folder_of("gpt2")
    (folder / "config.json").unlink()
    with pytest.raises(NotFound, match="has no config.json"):
        load(folder)


@pytest.mark.parametrize("unstack", [False, True])
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_on_a_mesh(family: str, unstack: bool, folder_of: Callable[..., Path]) -> None:
    """ACCELERATE-13: the numbers of one device, each slice where the rules want it."""
    alone = load(folder_of(family), unstack=unstack)
    mesh = make_mesh(data=1, fsdp=4, tensor=2)
    spread = load(folder_of(family), unstack=unstack, place=placing(ZERO[3].masters, mesh))
    for ours, theirs in zip(
        jax.tree.leaves(spread.params), jax.tree.leaves(alone.params), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
        assert len(ours.sharding.device_set) == 8
    layers = spread.params["layers"]
    kernel = (layers[0] if unstack else layers)["mlp"]["up"]["kernel"]
    assert tuple(kernel.sharding.spec)[-2:] == ("fsdp", "tensor")
    if not unstack:
        whole = sum(x.nbytes for x in jax.tree.leaves(alone.params))
        assert bytes_per_device(spread.params) < 0.3 * whole
