from __future__ import annotations

import numpy as np
import pytest

from barrow.nn.attention.fused_attention import distinct_scale


@pytest.mark.parametrize("scale", [0.125, 64**-0.5, 80**-0.5, 1 / 3])
@pytest.mark.parametrize(
    "flags",
    [
        "--xla_gpu_deterministic_ops=true",
        "--xla_dump_to=x --xla_gpu_exclude_nondeterministic_ops",
        "--xla_gpu_deterministic_ops=1 --xla_dump_to=x",
    ],
)
def test_distinct_numbers_that_are_equal_in_float32(
    monkeypatch: pytest.MonkeyPatch, flags: str, scale: float
) -> None:
    monkeypatch.setenv("XLA_FLAGS", flags)
    scales = [distinct_scale(scale) for _ in range(4096)]
    assert len(set(scales)) == 4096
    assert {np.float32(one) for one in scales} == {np.float32(scale)}


@pytest.mark.parametrize("flags", ["", "--xla_gpu_deterministic_ops=false", "--xla_dump_to=x"])
def test_elsewhere_the_scale_stays(monkeypatch: pytest.MonkeyPatch, flags: str) -> None:
    monkeypatch.setenv("XLA_FLAGS", flags)
    assert distinct_scale(1 / 3) == 1 / 3
