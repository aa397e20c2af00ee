"""Small decoders of `transformers` with random weights, saved as their library saves them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.goldens import golden
from tests.models.clip_peers import reference
from tests.models.drawn import opened, saved, write_model

SMALL = {
    "vocab_size": 97,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 96,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 48,
}
GPT2 = {"vocab_size": 97, "n_positions": 96, "n_embd": 32, "n_layer": 3, "n_head": 4}
CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2Config", GPT2),
    "gpt2 untied": (
        "GPT2Config",
        {**GPT2, "n_inner": 40, "activation_function": "relu", "tie_word_embeddings": False},
    ),
    "gpt_neox": ("GPTNeoXConfig", SMALL),
    "gpt_neox sequential": (
        "GPTNeoXConfig",
        {**SMALL, "use_parallel_residual": False, "rotary_pct": 0.5, "tie_word_embeddings": True},
    ),
    "gpt_neox without bias": ("GPTNeoXConfig", {**SMALL, "attention_bias": False}),
    "llama": ("LlamaConfig", {**SMALL, "num_key_value_heads": 2}),
    "llama tied, biased, llama3": (
        "LlamaConfig",
        {
            **SMALL,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "tie_word_embeddings": True,
            "attention_bias": True,
            "mlp_bias": True,
            "rope_parameters": LLAMA3,
        },
    ),
    "mistral": ("MistralConfig", {**SMALL, "num_key_value_heads": 2, "sliding_window": None}),
    "mistral with a window": (
        "MistralConfig",
        {**SMALL, "num_key_value_heads": 2, "sliding_window": 5},
    ),
    "qwen2": ("Qwen2Config", {**SMALL, "num_key_value_heads": 2}),
    "qwen3": ("Qwen3Config", {**SMALL, "num_key_value_heads": 2, "head_dim": 16}),
    "mixtral": (
        "MixtralConfig",
        {**SMALL, "num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2},
    ),
    "olmo2": (
        "Olmo2Config",
        {**SMALL, "num_key_value_heads": 2, "pad_token_id": None},
    ),
    "olmoe": (
        "OlmoeConfig",
        {**SMALL, "num_experts": 6, "num_experts_per_tok": 3, "pad_token_id": None},
    ),
    "qwen3_moe": (
        "Qwen3MoeConfig",
        {
            **SMALL,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "num_experts": 8,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 24,
            "norm_topk_prob": True,
        },
    ),
}


def _parts(name: str) -> tuple[str, str, dict[str, Any]]:
    config, settings = CONFIGS[name]
    ids = {"bos_token_id": None, "eos_token_id": None}
    return "AutoModelForCausalLM", config, {**settings, **ids}


@golden("torch", "transformers", atol=1e-4)
def _logits(name: str, tokens: Any) -> Any:
    import torch

    with torch.no_grad():
        return opened(*_parts(name))(torch.tensor(tokens)).logits


@golden("torch", "transformers", atol=1e-4)
def _greedy(name: str, prompt: Any, num: int) -> Any:
    """Ids that follow a prompt, and the two largest logits of each step."""
    import torch

    ids = torch.tensor(prompt)[None]
    out = opened(*_parts(name)).generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=num,
        do_sample=False,
        pad_token_id=0,
        output_logits=True,
        return_dict_in_generate=True,
    )
    best = [logits[0].topk(2).values.tolist() for logits in out.logits]
    return out.sequences[0, len(prompt) :].tolist(), best


@golden("torch", "transformers")
def _digests(name: str) -> Any:
    """The SHA-256 of each tensor that the opened model holds."""
    state = opened(*_parts(name)).state_dict()
    return {key: hashlib.sha256(x.numpy().tobytes()).hexdigest() for key, x in state.items()}


class Theirs:
    """What `transformers` computes with a model, by its name in CONFIGS."""

    logits = staticmethod(_logits)
    greedy = staticmethod(_greedy)
    digests = staticmethod(_digests)

    @staticmethod
    def num_parameters(name: str) -> int:
        return int(saved(*_parts(name))["parameters"])


@pytest.fixture(scope="session")
def theirs() -> type[Theirs]:
    return Theirs


@pytest.fixture
def folder_of(tmp_path: Path) -> Callable[..., Path]:
    """A model as `transformers` saves it, every parameter random."""

    def save(name: str, **options: Any) -> Path:
        return write_model(tmp_path / name.replace(" ", "_"), *_parts(name), **options)

    return save


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that ask for `every` run for every configuration."""
    if "every" in metafunc.fixturenames:
        metafunc.parametrize("every", list(CONFIGS))


@pytest.fixture(scope="session")
def open_clip_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small CLIP models of open_clip, a ResNet and a Vision Transformer, in every kind of file."""
    folder = tmp_path_factory.mktemp("open_clip")
    reference("make", folder)
    return folder


_WIDTH = {"hidden_size": 32, "intermediate_size": 128, "num_attention_heads": 4}
_CLIP: dict[str, Any] = {
    "text_config": {
        **_WIDTH,
        "vocab_size": 60,
        "num_hidden_layers": 2,
        "max_position_embeddings": 12,
        "bos_token_id": 58,
        "eos_token_id": 59,
        "pad_token_id": 59,
    },
    "vision_config": {**_WIDTH, "num_hidden_layers": 3, "image_size": 32, "patch_size": 8},
    "projection_dim": 16,
}


@golden("torch", "transformers", atol=1e-5)
def _clip_features(method: str, given: Any) -> Any:
    """Features of the small CLIP model: `get_image_features` or `get_text_features`."""
    import torch

    name = "pixel_values" if "image" in method else "input_ids"
    with torch.no_grad():
        model = opened("CLIPModel", "CLIPConfig", _CLIP, std=0.1)
        features = getattr(model, method)(**{name: torch.tensor(given)})
    return getattr(features, "pooler_output", features)


@pytest.fixture(scope="session")
def hf_clip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Callable[..., Any]]:
    """A small CLIP model as `transformers` saves it; and the features that it computes."""
    folder = tmp_path_factory.mktemp("hf_clip")
    write_model(folder, "CLIPModel", "CLIPConfig", _CLIP, std=0.1)
    return folder, _clip_features
