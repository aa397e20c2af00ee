"""GPT-2: learned positions, LayerNorm before, GELU, tied embeddings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barrow.models.decoder.model import DecoderConfig
from barrow.stream import StreamSettings
from barrow.train.optimizers import AdamW, Muon
from barrow.train.precision import Precision
from barrow.train.run import CheckpointSettings, EvaluationSettings, Run
from barrow.train.schedules import Cosine
from barrow.train.step import StepSettings


def tiny() -> Run:
    """700 thousand parameters: two cores train it in half a minute.

    So few steps want an optimizer that learns quickly: after 300, Muon was a nat below AdamW.
    """
    return Run(
        model=DecoderConfig(vocab_size=2048, width=128, layers=2, heads=4, hidden=512, context=128),
        data=StreamSettings(seq_len=128, batch=8),
        steps=250,
        optimizer=Muon(schedule=Cosine(peak=2e-2, warmup=20)),
        evaluation=EvaluationSettings(every=125, batches=40),
        checkpoint=CheckpointSettings(every=100),
        unroll=True,
    )


def small() -> Run:
    """124 million parameters, on 10 billion tokens: half a million a step, as GPT-3 had it."""
    return Run(
        model=DecoderConfig(),
        data=StreamSettings(seq_len=1024, batch=512),
        steps=19_073,
        optimizer=AdamW(schedule=Cosine(peak=6e-4, warmup=700)),
        step=StepSettings(precision=Precision("bf16"), accumulate=16),
        evaluation=EvaluationSettings(every=250, batches=20),
        checkpoint=CheckpointSettings(every=1000, keep_every=5000),
        unroll=True,
    )


def medium() -> Run:
    """354 million parameters, on 10 billion tokens."""
    return Run(
        model=DecoderConfig(width=1024, layers=24, heads=16, hidden=4096),
        data=StreamSettings(seq_len=1024, batch=512),
        steps=19_073,
        optimizer=AdamW(schedule=Cosine(peak=3e-4, warmup=700)),
        step=StepSettings(precision=Precision("bf16"), accumulate=32),
        evaluation=EvaluationSettings(every=250, batches=20),
        checkpoint=CheckpointSettings(every=1000, keep_every=5000),
        unroll=True,
    )


RUNS: Mapping[str, Callable[[], Run]] = {"tiny": tiny, "small": small, "medium": medium}
