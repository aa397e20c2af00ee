"""CLIP: images and text in one space.

model, preprocess = barrow.models.clip.load("ViT-B/32", weights="ViT-B-32.pt")
model.zero_shot(preprocess(["cat.jpg"]), ["cat", "dog"]).top(0)
"""

from __future__ import annotations

from barrow.models.clip.config import ClipConfig, ResNetConfig, TextConfig, VisionConfig
from barrow.models.clip.encoder import Clip
from barrow.models.clip.load import Preprocess, load
from barrow.models.clip.model import CLIP, normalised
from barrow.models.clip.probe import Probe, fit_probe
from barrow.models.clip.save import save_huggingface, save_open_clip
from barrow.models.clip.templates import EIGHTY, PLAIN, SEVEN
from barrow.models.clip.tower import Running
from barrow.models.clip.variants import VARIANTS, variant
from barrow.models.clip.zero_shot import ZeroShot, ensemble

__all__ = [
    "CLIP",
    "EIGHTY",
    "PLAIN",
    "SEVEN",
    "VARIANTS",
    "Clip",
    "ClipConfig",
    "Preprocess",
    "Probe",
    "ResNetConfig",
    "Running",
    "TextConfig",
    "VisionConfig",
    "ZeroShot",
    "ensemble",
    "fit_probe",
    "load",
    "normalised",
    "save_huggingface",
    "save_open_clip",
    "variant",
]
