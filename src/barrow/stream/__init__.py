"""Batches as a function of (seed, step)."""

from __future__ import annotations

from barrow.stream.batch import Batch
from barrow.stream.batches import Batches
from barrow.stream.masking import Mlm
from barrow.stream.order import Order
from barrow.stream.prefetch import Prefetch
from barrow.stream.schedule import Mixture, Phase, Schedule, constant
from barrow.stream.settings import StreamSettings
from barrow.stream.source import Collate, Source
from barrow.stream.stream import Stream

__all__ = [
    "Batch",
    "Batches",
    "Collate",
    "Mixture",
    "Mlm",
    "Order",
    "Phase",
    "Prefetch",
    "Schedule",
    "Source",
    "Stream",
    "StreamSettings",
    "constant",
]
