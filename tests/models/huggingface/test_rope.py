from __future__ import annotations

import pytest

from barrow.models.huggingface.rope import NEOX_SHARE, hf_rope, rotary_of
from barrow.models.huggingface.settings import Settings
from barrow.nn.attention.rotary import RopeScaling, Rotary

ROTARIES = [
    Rotary(),
    Rotary(5e5),
    Rotary(dim=8),
    Rotary(stretch=RopeScaling(4.0)),
    Rotary(5e5, stretch=RopeScaling(8.0, 1.0, 4.0, 8192)),
]


@pytest.mark.parametrize("rotary", ROTARIES)
@pytest.mark.parametrize("share", [1.0, NEOX_SHARE])
def test_written_and_read_again(rotary: Rotary, share: float) -> None:
    written = hf_rope(rotary, head_dim=32, share=share)
    assert rotary_of(Settings(written), head_dim=32, share=share) == rotary
    # What versions before `rope_parameters` read.
    del written["rope_parameters"]
    assert rotary_of(Settings(written), head_dim=32, share=share) == rotary
