"""Llama: rotary positions, RMSNorm, SwiGLU, no biases, grouped key heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from barrow.models.decoder.model import DecoderConfig
from barrow.nn.attention.rotary import Rotary
from barrow.stream import StreamSettings
from barrow.train.optimizers import AdamW, Muon
from barrow.train.precision import Precision
from barrow.train.run import CheckpointSettings, EvaluationSettings, MeshSettings, Run
from barrow.train.schedules import Cosine
from barrow.train.step import StepSettings

# What all sizes share.
SHAPE = DecoderConfig(
    norm="rms",
    activation="silu",
    gated=True,
    rotary=Rotary(),
    attention_bias=False,
    out_bias=False,
    mlp_bias=False,
)


def tiny() -> Run:
    """1.3 million parameters (vocabulary 4,096): two cores train it in two to three minutes.

    Rotary positions and SwiGLU learn more from a few steps than GPT-2's shape; so does Muon.
    """
    return Run(
        model=replace(
            SHAPE, vocab_size=4096, width=128, layers=4, heads=4, hidden=320, context=256
        ),
        data=StreamSettings(seq_len=256, batch=8),
        steps=600,
        optimizer=Muon(schedule=Cosine(peak=2e-2, warmup=20, end=0.02)),
        evaluation=EvaluationSettings(batches=40),
        checkpoint=CheckpointSettings(every=200),
        unroll=True,
    )


def one_b() -> Run:
    """1.1 billion parameters in the shape of TinyLlama, on 26 billion tokens (some 24 for each).

    A step has a million tokens. State is divided over the devices (`mesh.fsdp=-1`, ZeRO 3).
    """
    return Run(
        model=replace(
            SHAPE,
            vocab_size=32_000,
            width=2048,
            layers=22,
            heads=32,
            kv_heads=4,
            hidden=5632,
            context=2048,
            tied=False,
        ),
        data=StreamSettings(seq_len=2048, batch=512),
        steps=25_000,
        optimizer=AdamW(schedule=Cosine(peak=4e-4, warmup=2000)),
        step=StepSettings(precision=Precision("bf16"), accumulate=8),
        mesh=MeshSettings(data=1, fsdp=-1, zero=3),
        evaluation=EvaluationSettings(every=500, batches=20),
        checkpoint=CheckpointSettings(every=1000, keep_every=5000),
        remat="attention",
    )


RUNS: Mapping[str, Callable[[], Run]] = {"tiny": tiny, "1b": one_b}
