from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow.archive.document_id import identity_of, name_of


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_there_and_back(high: int, low: int) -> None:
    name = f"{high:016x}-{low:08x}"
    assert identity_of(name) == (high, low)
    if high or low:
        assert name_of(np.array([high, low], np.uint64)) == name


def test_no_id() -> None:
    assert name_of(np.zeros(2, np.uint64)) == ""


@pytest.mark.parametrize(
    "value", [None, 3, "", "abc", "0" * 16, "0" * 16 + "-" + "0" * 9, "G" * 25]
)
def test_what_is_no_id(value: object) -> None:
    assert identity_of(value) == (0, 0)
