from __future__ import annotations

import sys

import ml_dtypes
import numpy as np
import pytest

from barrow.errors import MissingExtra
from barrow.files import dtypes

NAMES = dtypes._ORDER


@pytest.mark.parametrize("name", NAMES)
def test_every_type_there_and_back(name: str) -> None:
    dtype = dtypes.dtype_of(name)
    assert dtypes.is_known(name)
    assert dtypes.name_of(dtype) == name
    assert dtype.itemsize == dtypes.width_of(name)


def test_wide_types_rank_above_narrow_ones() -> None:
    widths = [dtypes.width_of(name) for name in sorted(NAMES, key=dtypes.rank_of)]
    assert widths == sorted(widths)
    assert set(NAMES) == {*dtypes._NATIVE, *dtypes._EXTENDED}


def test_types_that_numpy_lacks() -> None:
    assert dtypes.dtype_of("BF16") == ml_dtypes.bfloat16
    assert dtypes.dtype_of("F8_E4M3") == ml_dtypes.float8_e4m3fn
    assert dtypes.dtype_of("F8_E5M2") == ml_dtypes.float8_e5m2


def test_byte_order_is_no_part_of_the_name() -> None:
    assert dtypes.name_of(np.dtype(">f4")) == "F32"


@pytest.mark.parametrize("dtype", ["O", "c16", "U3", "M8[s]"])
def test_others_are_refused(dtype: str) -> None:
    with pytest.raises(ValueError, match="Convert the array first"):
        dtypes.name_of(np.dtype(dtype))


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert dtypes.dtype_of("F32") == np.float32
    with pytest.raises(MissingExtra, match=r"bfloat16 needs ml_dtypes: pip install '.\[train\]'"):
        dtypes.dtype_of("BF16")
