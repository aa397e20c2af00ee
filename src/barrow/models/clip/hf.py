"""CLIP's config.json as `transformers` has it, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from barrow.errors import WeightsError
from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig


def config_of_hf(data: Mapping[str, Any], path: Path) -> ClipConfig:
    """The architecture that a config.json describes; what it leaves out is ViT-B/32's."""
    if data.get("model_type") != "clip":
        raise WeightsError(
            f"config.json: expected model_type 'clip', got {data.get('model_type')!r}", path=path
        )
    text, image = (_part(data, f"{name}_config") for name in ("text", "vision"))
    config = ClipConfig(
        int(data.get("projection_dim", 512)),
        VisionConfig(
            image.get("image_size", 224),
            image.get("patch_size", 32),
            image.get("hidden_size", 768),
            image.get("num_hidden_layers", 12),
            image.get("num_attention_heads", 12),
        ),
        TextConfig(
            text.get("vocab_size", 49408),
            text.get("max_position_embeddings", 77),
            text.get("hidden_size", 512),
            text.get("num_hidden_layers", 12),
            text.get("num_attention_heads", 8),
        ),
        text.get("hidden_act", "quick_gelu"),
        text.get("layer_norm_eps", 1e-5),
    )
    for found, expected, what in (
        (image.get("hidden_act", "quick_gelu"), config.activation, "the towers' activations"),
        (image.get("layer_norm_eps", 1e-5), config.norm_eps, "the towers' norm_eps"),
        (image.get("num_channels", 3), 3, "channels of an image"),
        (text.get("intermediate_size", 2048), 4 * config.text.width, "the text tower's net"),
        (image.get("intermediate_size", 3072), 4 * config.image.width, "the image tower's net"),
    ):
        if found != expected:
            raise WeightsError(f"config.json: {what}: expected {expected}, got {found}", path=path)
    end = text.get("eos_token_id", 2)
    # 2 was a mistake of earlier versions, and means the highest id of a row.
    if end not in (2, config.text.vocab_size - 1):
        raise WeightsError(
            "config.json: a text must end with the highest id, "
            f"{config.text.vocab_size - 1}, got {end}",
            path=path,
        )
    return config


def hf_of_config(config: ClipConfig) -> dict[str, Any]:
    """The config.json under which `transformers.CLIPModel` computes the same function."""
    text, image = config.text, config.image
    assert isinstance(image, VisionConfig)
    shared = {"hidden_act": config.activation, "layer_norm_eps": config.norm_eps}

    def sizes(part: TextConfig | VisionConfig) -> dict[str, Any]:
        return {
            "hidden_size": part.width,
            "intermediate_size": 4 * part.width,
            "num_hidden_layers": part.layers,
            "num_attention_heads": part.heads,
            "projection_dim": config.embed,
            **shared,
        }

    return {
        "architectures": ["CLIPModel"],
        "model_type": "clip",
        "projection_dim": config.embed,
        "logit_scale_init_value": 2.6592,
        "text_config": {
            "model_type": "clip_text_model",
            **sizes(text),
            "vocab_size": text.vocab_size,
            "max_position_embeddings": text.context,
            "bos_token_id": max(text.vocab_size - 2, 0),
            "eos_token_id": text.vocab_size - 1,
            "pad_token_id": text.vocab_size - 1,
        },
        "vision_config": {
            "model_type": "clip_vision_model",
            **sizes(image),
            "image_size": image.resolution,
            "patch_size": image.patch,
        },
    }


def hf_preprocessing(resolution: int, mean: tuple[float, ...], std: tuple[float, ...]) -> Any:
    """The preprocessor_config.json of CLIP's recipe."""
    return {
        "image_processor_type": "CLIPImageProcessor",
        "do_convert_rgb": True,
        "do_resize": True,
        "size": {"shortest_edge": resolution},
        "resample": 3,
        "do_center_crop": True,
        "crop_size": {"height": resolution, "width": resolution},
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(mean),
        "image_std": list(std),
    }


def _part(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    # Files of 2022 repeat the numbers here, and these count.
    return {**(data.get(name) or {}), **(data.get(f"{name}_dict") or {})}
