"""CLIP: a Vision Transformer and a text encoder, trained to match texts and images."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig
from barrow.models.clip.variants import VARIANTS
from barrow.stream.pairs import PairSettings
from barrow.train.optimizers import AdamW
from barrow.train.precision import Precision
from barrow.train.run import CheckpointSettings, EvaluationSettings, Run
from barrow.train.schedules import Cosine
from barrow.train.step import StepSettings


def tiny() -> Run:
    """1.0 million parameters on images of 32 × 32 pixels, texts byte by byte: for a CPU."""
    return Run(
        model=ClipConfig(
            embed=64,
            image=VisionConfig(resolution=32, patch=8, width=128, layers=3, heads=4),
            text=TextConfig(vocab_size=514, context=48, width=96, layers=3, heads=4),
        ),
        data=PairSettings(batch=128, min_area=0.8, background=(255, 255, 255)),
        steps=600,
        tokenizer="bytes",
        optimizer=AdamW(
            schedule=Cosine(peak=1e-3, warmup=60, end=0.01),
            beta2=0.98,
            eps=1e-6,
            weight_decay=0.2,
        ),
        evaluation=EvaluationSettings(every=200),
        checkpoint=CheckpointSettings(every=200),
        unroll=True,
    )


def b32() -> Run:
    """ViT-B/32 as it was published: 151 million parameters, 32 epochs of 400 million pairs."""
    return Run(
        model=VARIANTS["ViT-B/32"],
        data=PairSettings(batch=32_768),
        steps=390_625,
        optimizer=AdamW(
            schedule=Cosine(peak=5e-4, warmup=2000, end=0.0),
            beta2=0.98,
            eps=1e-6,
            weight_decay=0.2,
        ),
        step=StepSettings(precision=Precision("bf16"), clip=None),
        evaluation=EvaluationSettings(every=2000),
        checkpoint=CheckpointSettings(every=2000, keep_every=50_000),
        unroll=True,
        remat="attention",
    )


RUNS: Mapping[str, Callable[[], Run]] = {"tiny": tiny, "b32": b32}
