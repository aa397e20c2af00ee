"""RoBERTa: an encoder trained by masked language modelling, with new masks in every epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barrow.models.roberta.model import RobertaConfig
from barrow.stream import StreamSettings
from barrow.stream.rows.masking import Mlm
from barrow.train.optimizers import AdamW, Muon
from barrow.train.precision import Precision
from barrow.train.run import CheckpointSettings, EvaluationSettings, Run
from barrow.train.schedules import Cosine, Linear
from barrow.train.step import StepSettings


def tiny() -> Run:
    """Less than a million parameters, and rows of positions before its padding id: for a CPU."""
    return Run(
        model=RobertaConfig(
            vocab_size=2048, width=128, layers=2, heads=4, hidden=512, positions=130, dropout=0.0
        ),
        data=StreamSettings(seq_len=128, batch=16, mlm=Mlm()),
        steps=250,
        optimizer=Muon(schedule=Cosine(peak=2e-2, warmup=20), momentum=0.98, beta2=0.98, eps=1e-6),
        evaluation=EvaluationSettings(every=125, batches=40),
        checkpoint=CheckpointSettings(every=100),
        unroll=True,
    )


def distil() -> Run:
    """82 million parameters, distilroberta-base's shape, from scratch; a million tokens a step.

    Rows run across documents, as RoBERTa's did: attention without a mask is the fastest.
    """
    return Run(
        model=RobertaConfig(layers=6),
        data=StreamSettings(seq_len=512, batch=2048, mlm=Mlm()),
        steps=25_000,
        optimizer=AdamW(
            schedule=Linear(peak=6e-4, warmup=1500), beta2=0.98, eps=1e-6, weight_decay=0.01
        ),
        step=StepSettings(precision=Precision("bf16"), accumulate=16),
        evaluation=EvaluationSettings(every=500, batches=8),
        checkpoint=CheckpointSettings(every=1000, keep_every=5000),
        mask_documents=False,
        unroll=True,
    )


RUNS: Mapping[str, Callable[[], Run]] = {"tiny": tiny, "distil": distil}
