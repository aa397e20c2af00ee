"""Model FLOPs utilisation: the model's matrix products as a share of the devices' peak.

MFU = tokens/s · (6N + 12·L·d·T) / (devices · peak), where N is the number of parameters (embeddings
included), L of layers, d the width of attention (heads · head size) and T the length of a row.
Attention is counted in full, though half of it is masked; what is computed again to save memory is
not counted. Other projects count otherwise: only figures by the same formula can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Dense bfloat16 (float16 where there is none) FLOP/s by device name: vendors' figures without
# sparsity. Longer names come first.
PEAKS = (
    ("B200", 2250e12),
    ("H200", 989e12),
    ("H100 PCIe", 756e12),
    ("H100 NVL", 835e12),
    ("H100", 989e12),
    ("A100", 312e12),
    ("L40S", 362e12),
    ("L40", 181e12),
    ("L4", 121e12),
    ("A10G", 70e12),
    ("A10", 125e12),
    ("V100", 125e12),
    ("T4", 65e12),
    ("TPU v6", 918e12),
    ("TPU v5p", 459e12),
    ("TPU v5", 197e12),
    ("TPU v4", 275e12),
    ("TPU v3", 123e12),
)


def flops_per_token(num_params: int, *, layers: int, width: int, length: int) -> float:
    """6N + 12·L·d·T: forward and backward of one token."""
    return 6.0 * num_params + 12.0 * layers * width * length


def peak_flops(devices: Sequence[Any]) -> float | None:
    """FLOP/s of all devices together; None if one is unknown, such as a CPU."""
    peaks = [_peak(device.device_kind) for device in devices]
    known = [peak for peak in peaks if peak is not None]
    return sum(known) if known and len(known) == len(peaks) else None


def _peak(kind: str) -> float | None:
    return next((peak for name, peak in PEAKS if name in kind), None)
