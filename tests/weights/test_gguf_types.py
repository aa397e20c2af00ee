from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from barrow.weights.gguf_types import OTHERS, TYPES

VALUES = np.array([1.5, -2.25, 0, 3e-5, 65504], np.float32)


@pytest.mark.parametrize(
    ("number", "dtype"), [(0, np.float32), (1, np.float16), (30, ml_dtypes.bfloat16)]
)
def test_floats_are_given_as_float32(number: int, dtype: type) -> None:
    stored = VALUES.astype(dtype)
    found = TYPES[number].decode(np.frombuffer(stored.tobytes(), np.uint8))
    assert found.dtype == TYPES[number].dtype == np.float32
    np.testing.assert_array_equal(found, stored.astype(np.float32))


@pytest.mark.parametrize(
    ("number", "dtype"), [(24, "i1"), (25, "i2"), (26, "i4"), (27, "i8"), (28, "f8")]
)
def test_others_as_they_are(number: int, dtype: str) -> None:
    stored = np.array([-3, 0, 7], dtype)
    found = TYPES[number].decode(np.frombuffer(stored.tobytes(), np.uint8))
    np.testing.assert_array_equal(found, stored, strict=True)
    assert TYPES[number].num_bytes == stored.itemsize


def test_no_number_means_two_things() -> None:
    assert not TYPES.keys() & OTHERS.keys()
    names = [element.name for element in TYPES.values()] + list(OTHERS.values())
    assert len(set(names)) == len(names)
