"""What a step saw, and who saw a document, against walking through all batches (BEYOND-2)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from barrow.stream import Stream

EPOCHS = {"A": 2.0, "B": 1.0, "C": 1.5}


def walk(stream: Stream, until: int) -> dict[int, list[tuple[int, int, int, int]]]:
    """By document: step, row, first column and number of tokens of each segment."""
    found = defaultdict(list)
    for step in range(until):
        batch = stream.batch(step)
        for row, documents in enumerate(batch.documents.tolist()):
            for number, document in enumerate(documents):
                if document >= 0:
                    columns = np.flatnonzero(batch.segments[row] == number + 1)
                    found[document].append((step, row, int(columns[0]), len(columns)))
    return found


@pytest.fixture(params=["cut", "fit", "document"])
def stream(request: pytest.FixtureRequest, token_store: Any, tmp_path: Any) -> Stream:
    return Stream(
        token_store,
        seq_len=24,
        batch=4,
        seed=2,
        epochs=EPOCHS,
        packing=request.param,
        cache=tmp_path,
    )


def test_a_step(stream: Stream, token_store: Any) -> None:
    for step in (0, 7, (stream.num_steps or 0) - 1):
        batch = stream.batch(step)
        seen = stream.explain(step)
        assert sorted(seen) == seen
        assert sum(one.stop - one.first for one in seen) == batch.num_tokens
        for one in seen:
            entry = token_store.document(one.document)
            assert (one.step, one.domain, one.num_tokens) == (step, entry.domain, entry.num_tokens)
            assert one.identity == entry.identity
            columns = slice(one.column, one.column + one.stop - one.first)
            place = token_store.domains.index(entry.domain)
            ids = token_store.read(place, entry.start + one.first, entry.start + one.stop)
            assert (batch.tokens[one.row, columns] == ids).all()
            (segment,) = set(batch.segments[one.row, columns].tolist())
            assert batch.documents[one.row, segment - 1] == one.document
        assert stream.explain(step, row=2) == [one for one in seen if one.row == 2]
    with pytest.raises(ValueError, match="row must be from 0 to 3 at step 0, got 4"):
        stream.explain(0, row=4)
    with pytest.raises(ValueError, match="past the end"):
        stream.explain(stream.num_steps or 0)


def test_a_document(stream: Stream, token_store: Any) -> None:
    expected = walk(stream, stream.num_steps or 0)
    for document in range(token_store.num_documents):
        found = stream.steps_of(document)
        told = [(one.step, one.row, one.column, one.stop - one.first) for one in found]
        assert told == expected.get(document, [])
        earlier = stream.steps_of(document, until=9)
        assert earlier == [one for one in found if one.step < 9]


def test_without_end(token_store: Any) -> None:
    """An endless stream is looked through until the domain was read once."""
    stream = Stream(token_store, seq_len=24, batch=4, seed=2, weights={"A": 1.0, "B": 3.0})
    entry = token_store.document(0)
    assert entry.domain == "A"
    found = stream.steps_of(0)
    tokens = sorted(n for one in found for n in range(one.first, one.stop))
    assert set(tokens) == set(range(entry.num_tokens))
    far = stream.steps_of(0, until=1000)
    assert far[: len(found)] == found
    assert len(far) > len(found)
    unread = token_store.domain_range(token_store.domains.index("C")).start
    assert stream.steps_of(unread) == []
