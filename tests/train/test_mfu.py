from __future__ import annotations

from dataclasses import dataclass

import jax
import pytest

from barrow.train.mfu import flops_per_token, peak_flops


@dataclass
class Device:
    device_kind: str


def test_the_formula() -> None:
    """6N + 12·L·d·T, for GPT-2's 124 million: 6·124,439,808 + 12·12·768·1024."""
    found = flops_per_token(124_439_808, layers=12, width=768, length=1024)
    assert found == 746_638_848 + 113_246_208


@pytest.mark.parametrize(
    ("kind", "peak"),
    [
        ("NVIDIA H200", 989e12),
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA A10G", 70e12),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA L4", 121e12),
        ("TPU v5p", 459e12),
        ("TPU v5 lite", 197e12),
    ],
)
def test_peaks(kind: str, peak: float) -> None:
    assert peak_flops([Device(kind)] * 4) == 4 * peak


def test_what_is_not_known_has_none() -> None:
    assert peak_flops(jax.devices("cpu")) is None
    assert peak_flops([Device("NVIDIA H200"), Device("Abacus")]) is None
    assert peak_flops([]) is None
