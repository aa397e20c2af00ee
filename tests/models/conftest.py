"""Small decoders of `transformers` with random weights, saved as their library saves them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tests.models.clip_peers import reference

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

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


@pytest.fixture(scope="session")
def theirs() -> Callable[[str], Any]:
    """A model of `transformers` by its name in CONFIGS, every parameter random."""
    made: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in made:
            kind, settings = CONFIGS[name]
            config = getattr(transformers, kind)(
                **settings, initializer_range=0.3, bos_token_id=None, eos_token_id=None
            )
            torch.manual_seed(len(name))
            made[name] = transformers.AutoModelForCausalLM.from_config(config).eval()
            for parameter in made[name].parameters():
                if parameter.ndim == 1:
                    torch.nn.init.normal_(parameter, std=0.3)
        return made[name]

    return get


@pytest.fixture
def folder_of(tmp_path: Path, theirs: Callable[[str], Any]) -> Callable[..., Path]:
    """A model saved by `transformers`."""

    def save(name: str, **options: Any) -> Path:
        path = tmp_path / name.replace(" ", "_")
        theirs(name).save_pretrained(path, **options)
        return path

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


@pytest.fixture(scope="session")
def hf_clip(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A small CLIP model of `transformers`, as it saves it; and the model."""
    torch.manual_seed(0)
    shared = {"hidden_size": 32, "intermediate_size": 128, "num_attention_heads": 4}
    config = transformers.CLIPConfig(
        text_config={
            **shared,
            "vocab_size": 60,
            "num_hidden_layers": 2,
            "max_position_embeddings": 12,
            "bos_token_id": 58,
            "eos_token_id": 59,
            "pad_token_id": 59,
        },
        vision_config={**shared, "num_hidden_layers": 3, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    model = transformers.CLIPModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
            elif parameter.ndim > 1:
                parameter.mul_(3)
    folder = tmp_path_factory.mktemp("hf_clip")
    model.save_pretrained(folder)
    return folder, model
