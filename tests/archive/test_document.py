from __future__ import annotations

import pickle

import pytest

from barrow import Document


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
