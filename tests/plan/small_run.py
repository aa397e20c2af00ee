"""A run so small that its step compiles in seconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from barrow.launch.constants import Constants, Link
from barrow.models.decoder.model import DecoderConfig
from barrow.plan import Hardware
from barrow.stream import StreamSettings
from barrow.train import Run
from barrow.train.optimizers import AdamW
from barrow.train.precision import Precision
from barrow.train.step import StepSettings

SHAPE = DecoderConfig(vocab_size=256, width=32, layers=2, heads=4, hidden=128, context=64)
LINKS = (Link(2, 2e-5, 1e10), Link(8, 4e-5, 1e10))
CONSTANTS = Constants("test", {"float32": 1e12, "bfloat16": 2e12}, 1e11, 1e10, 1e-5, LINKS)


def small_run(*, batch: int = 32, precision: Any = "fp32", accumulate: int = 1, **more: Any) -> Run:
    step = StepSettings(precision=Precision(precision), accumulate=accumulate)
    data = StreamSettings(seq_len=64, batch=batch)
    run = Run(model=SHAPE, data=data, steps=4, optimizer=AdamW(), step=step)
    return replace(run, **more)


def hardware(memory: int = 1 << 30, devices: int = 8) -> Hardware:
    return Hardware(devices, memory, CONSTANTS, is_cpu=True)
