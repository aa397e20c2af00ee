from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barrow import Document
from barrow.archive.document import identity_of, name_of


def test_a_document_is_a_value() -> None:
    document = Document("text", {"pile_set_name": "ArXiv"})
    assert document == Document("text", {"pile_set_name": "ArXiv"})
    assert document.domain == "ArXiv"
    assert Document("x").domain is None
    assert Document("x", {"pile_set_name": 3}).domain is None
    assert pickle.loads(pickle.dumps(document)) == document
    with pytest.raises(AttributeError):
        document.text = "other"  # type: ignore[misc]


def test_metas_are_not_shared() -> None:
    first, second = Document("a"), Document("b")
    first.meta["key"] = 1
    assert second.meta == {}


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
