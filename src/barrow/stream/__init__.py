"""Batches as a function of (seed, step)."""

from __future__ import annotations

from barrow.stream.batch import Batch
from barrow.stream.explain import Seen
from barrow.stream.order.order import Order
from barrow.stream.order.schedule import Mixture, Phase, Schedule, constant
from barrow.stream.prefetch import Prefetch
from barrow.stream.rows.masking import Mlm
from barrow.stream.settings import StreamSettings
from barrow.stream.source import Collate, Data, DataSettings, Source
from barrow.stream.stream import Stream
from barrow.stream.tokens import Tokens

__all__ = [
    "Batch",
    "Collate",
    "Data",
    "DataSettings",
    "Mixture",
    "Mlm",
    "Order",
    "Phase",
    "Prefetch",
    "Schedule",
    "Seen",
    "Source",
    "Stream",
    "StreamSettings",
    "Tokens",
    "constant",
]
