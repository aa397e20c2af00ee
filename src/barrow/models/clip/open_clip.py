"""open_clip's configuration, and architectures read off the shapes of tensors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from barrow.errors import WeightsError
from barrow.models.clip.config import HEAD_DIM, ClipConfig, ResNetConfig, TextConfig, VisionConfig

Shapes = Mapping[str, tuple[int, ...]]


def config_of_shapes(shapes: Shapes, path: Path) -> ClipConfig:
    """The architecture of tensors under OpenAI's names; heads are 64 wide, as in all of theirs."""
    try:
        width, embed = shapes["text_projection"]
        context = shapes["positional_embedding"][0]
        vocab_size = shapes["token_embedding.weight"][0]
        layers = _count(shapes, r"transformer\.resblocks\.(\d+)\.")
        text = TextConfig(vocab_size, context, width, layers, max(1, width // HEAD_DIM))
        return ClipConfig(embed, _image(shapes), text)
    except (KeyError, ValueError, IndexError) as error:
        raise WeightsError(
            f"expected the tensors of a CLIP model under OpenAI's names: {error}; is it "
            "one tower only, or another model?",
            path=path,
        ) from None


def config_of_open_clip(data: Mapping[str, Any], shapes: Shapes, path: Path) -> ClipConfig:
    """The architecture of tensors, completed from an open_clip_config.json."""
    model = data.get("model_cfg", {})
    image, text = model.get("vision_cfg", {}), model.get("text_cfg", {})
    for part, key in ((image, "timm_model_name"), (text, "hf_model_name")):
        if part.get(key):
            raise WeightsError(f"its tower {part[key]} is of another library", path=path)
    config = config_of_shapes(shapes, path)
    config = replace(
        config,
        activation="quick_gelu" if model.get("quick_gelu") else "gelu",
        text=replace(config.text, heads=text.get("heads", config.text.heads)),
    )
    head_width = image.get("head_width", HEAD_DIM)
    width = config.image.width * (1 if isinstance(config.image, VisionConfig) else 32)
    return replace(config, image=replace(config.image, heads=max(1, width // head_width)))


def open_clip_of_config(
    config: ClipConfig, mean: tuple[float, ...], std: tuple[float, ...]
) -> dict[str, Any]:
    """The open_clip_config.json under which open_clip computes the same function."""
    image, text = config.image, config.text
    is_vision = isinstance(image, VisionConfig)
    width = image.width * (1 if is_vision else 32)
    return {
        "model_cfg": {
            "embed_dim": config.embed,
            "quick_gelu": config.activation == "quick_gelu",
            "vision_cfg": {
                "image_size": image.resolution,
                "layers": image.layers if is_vision else list(image.layers),  # type: ignore[arg-type]
                "width": image.width,
                "head_width": width // image.heads,
                "patch_size": image.patch if isinstance(image, VisionConfig) else None,
            },
            "text_cfg": {
                "context_length": text.context,
                "vocab_size": text.vocab_size,
                "width": text.width,
                "heads": text.heads,
                "layers": text.layers,
            },
        },
        "preprocess_cfg": {
            "mean": list(mean),
            "std": list(std),
            "interpolation": "bicubic",
            "resize_mode": "shortest",
        },
    }


def _image(shapes: Shapes) -> VisionConfig | ResNetConfig:
    if "visual.proj" in shapes:
        width, _, _, patch = shapes["visual.conv1.weight"]
        side = math.isqrt(shapes["visual.positional_embedding"][0] - 1)
        layers = _count(shapes, r"visual\.transformer\.resblocks\.(\d+)\.")
        return VisionConfig(side * patch, patch, width, layers, max(1, width // HEAD_DIM))
    width = shapes["visual.layer1.0.conv1.weight"][0]
    side = math.isqrt(shapes["visual.attnpool.positional_embedding"][0] - 1)
    one, two, three, four = (_count(shapes, rf"visual\.layer{n}\.(\d+)\.") for n in range(1, 5))
    heads = max(1, 32 * width // HEAD_DIM)
    return ResNetConfig(32 * side, width, (one, two, three, four), heads)


def _count(names: Iterable[str], pattern: str) -> int:
    return len({found[1] for name in names if (found := re.match(pattern, name))})
