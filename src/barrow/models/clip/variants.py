"""CLIP's nine published models by name."""

from __future__ import annotations

from barrow.errors import nearest
from barrow.models.clip.config import ClipConfig, ResNetConfig, TextConfig, VisionConfig


def _text(width: int) -> TextConfig:
    return TextConfig(width=width, heads=width // 64)


VARIANTS: dict[str, ClipConfig] = {
    "RN50": ClipConfig(1024, ResNetConfig(224, 64, (3, 4, 6, 3), 32), _text(512)),
    "RN101": ClipConfig(512, ResNetConfig(224, 64, (3, 4, 23, 3), 32), _text(512)),
    "RN50x4": ClipConfig(640, ResNetConfig(288, 80, (4, 6, 10, 6), 40), _text(640)),
    "RN50x16": ClipConfig(768, ResNetConfig(384, 96, (6, 8, 18, 8), 48), _text(768)),
    "RN50x64": ClipConfig(1024, ResNetConfig(448, 128, (3, 15, 36, 10), 64), _text(1024)),
    "ViT-B/32": ClipConfig(512, VisionConfig(224, 32, 768, 12, 12), _text(512)),
    "ViT-B/16": ClipConfig(512, VisionConfig(224, 16, 768, 12, 12), _text(512)),
    "ViT-L/14": ClipConfig(768, VisionConfig(224, 14, 1024, 24, 16), _text(768)),
    "ViT-L/14@336px": ClipConfig(768, VisionConfig(336, 14, 1024, 24, 16), _text(768)),
}


def variant(name: str) -> ClipConfig:
    """The architecture of a name; ``ViT-B-32`` is ``ViT-B/32``, as file names have it."""
    plain = {_plain(known): known for known in VARIANTS}
    if _plain(name) in plain:
        return VARIANTS[plain[_plain(name)]]
    raise ValueError(f"no CLIP model {name!r}; {nearest(name, VARIANTS)}")


def _plain(name: str) -> str:
    return name.lower().replace("/", "-").replace("@", "-").removesuffix("px")
