from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from barrow.stream import Batch


def test_arrays() -> None:
    ids = np.zeros((2, 3), np.int32)
    segments = np.array([[1, 1, 2], [1, 0, 0]], np.int32)
    batch = Batch(ids, ids, segments, ids, segments > 0, np.zeros((2, 2), np.int64))
    assert list(batch.arrays()) == ["tokens", "targets", "segments", "positions", "mask"]
    assert batch.arrays()["segments"] is segments
    assert batch.num_tokens == 4
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.tokens = ids  # type: ignore[misc]
