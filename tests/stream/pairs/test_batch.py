from __future__ import annotations

import numpy as np

from barrow.stream.pairs import PairBatch


def test_what_goes_to_a_device_and_how_many_count() -> None:
    mask = np.array([True, False, True])
    numbers = np.array([4, -1, 2])
    images, texts = np.zeros((3, 2, 2, 3), np.uint8), np.zeros((3, 5), np.int32)
    batch = PairBatch(images, texts, mask, numbers, numbers)
    arrays = batch.arrays()
    assert list(arrays) == ["images", "texts", "mask"]
    assert arrays["images"] is images
    assert batch.num_pairs == 2
