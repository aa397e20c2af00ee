from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from barrow.score.conformance.bytes import bytes_checks
from barrow.score.conformance.check import barrow_scorer, documents_of, rows
from barrow.score.result import Documents

CHECKS = {check.name: check for check in bytes_checks()}


def after(change: Callable[[Documents], Documents]) -> Any:
    """A scorer whose figures of documents are changed."""

    def scorer(*given: Any, **how: Any) -> Any:
        result = barrow_scorer(*given, **how)
        return replace(result, documents=change(rows(result)))

    return scorer


def without_empty(model: Any, protocol: Any, documents: Any, **how: Any) -> Any:
    told = [document for document in documents if document.text]
    return barrow_scorer(model, protocol, told, **how)


def characters(model: Any, protocol: Any, documents: Any, **how: Any) -> Any:
    """Characters for bytes."""
    result = barrow_scorer(model, protocol, documents, **how)
    num = sum(len(document.text) for document in documents)
    bpb = (result.overall.bpb or 0) * result.overall.bytes / num
    return replace(result, overall=replace(result.overall, bytes=num, bpb=bpb))


def joined(model: Any, protocol: Any, documents: Any, **how: Any) -> Any:
    """Each document sees the one before."""
    result = barrow_scorer(model, protocol, documents, **how)
    if len(documents) == 1:
        return result
    texts = [document.text for document in documents]
    pairs = [a + b for a, b in zip(["", *texts], texts, strict=False)]
    both = rows(barrow_scorer(model, protocol, documents_of(pairs), **how)).nats
    before = rows(barrow_scorer(model, protocol, documents_of(["", *texts[:-1]]), **how)).nats
    return replace(result, documents=replace(rows(result), nats=both - before))


@pytest.mark.parametrize(
    ("name", "scorer"),
    [
        ("raw bytes", without_empty),
        ("raw bytes", after(lambda held: replace(held, tokens=held.tokens + 1))),
        ("raw bytes", after(lambda held: replace(held, nats=held.nats + 1))),
        ("raw bytes", after(lambda held: replace(held, kind_bytes=held.kind_bytes + 1))),
        ("split characters", characters),
        ("documents", without_empty),
        ("documents", joined),
        ("documents", after(lambda held: replace(held, text=held.text[::-1]))),
        ("projection", after(lambda held: replace(held, kind_nats=held.kind_nats * 1.001))),
        (
            "projection",
            after(lambda held: replace(held, kind_nats=np.roll(held.kind_nats, 1, axis=1))),
        ),
    ],
)
def test_a_scorer_that_is_wrong_fails(name: str, scorer: Callable[..., Any]) -> None:
    assert CHECKS[name].run(barrow_scorer).passed
    found = CHECKS[name].run(scorer)
    assert not found.passed
    assert found.numbers
