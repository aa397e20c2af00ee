"""Smaller and faster models, with what that costs by domain."""

from __future__ import annotations

from barrow.compress.card import Card
from barrow.compress.compressed import Measuring, compress
from barrow.compress.quantize import quantized
from barrow.compress.scheme import Scheme

__all__ = ["Card", "Measuring", "Scheme", "compress", "quantized"]
