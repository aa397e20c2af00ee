from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from barrow.score.conformance.check import Verdict, barrow_scorer, documents_of, rows
from barrow.score.conformance.windows import windows_checks

CHECKS = {check.name: check for check in windows_checks()}


def cut(model: Any, protocol: Any, documents: Any, **how: Any) -> Any:
    """The last token is not charged."""
    less = documents_of([document.text[:-1] for document in documents])
    return barrow_scorer(model, protocol, less, **how)


def doubled(model: Any, protocol: Any, documents: Any, **how: Any) -> Any:
    """What is charged in the first window is charged again."""
    result = barrow_scorer(model, protocol, documents, **how)
    again = [d.text[: protocol.context or model.max_length] for d in documents]
    twice = rows(barrow_scorer(model, protocol, documents_of(again), **how))
    held = rows(result)
    return replace(result, documents=replace(held, nats=held.nats + twice.nats))


def shorter(model: Any, protocol: Any, documents: Any, **how: Any) -> Any:
    """A context one shorter than the card's, which no window shows but the conditioning."""
    context = protocol.context or model.max_length
    said = protocol.window(model.tokenizer, model.max_length)
    less = replace(protocol, context=context - 1) if context > 2 else protocol
    if isinstance(less.stride, int) and less.stride >= context:
        less = replace(less, stride=context - 1)
    result = barrow_scorer(model, less, documents, **how)
    return replace(result, card=replace(result.card, window=said))


def other_card(model: Any, protocol: Any, documents: Any, **how: Any) -> Any:
    """The numbers are right, and the card says another stride."""
    result = barrow_scorer(model, protocol, documents, **how)
    assert result.card.window is not None
    window = replace(result.card.window, stride=result.card.window.stride + 1)
    return replace(result, card=replace(result.card, window=window))


def without_prefix(model: Any, protocol: Any, documents: Any, **how: Any) -> Any:
    return barrow_scorer(model, replace(protocol, prefix="none"), documents, **how)


@pytest.mark.parametrize(
    ("name", "scorer"),
    [
        ("one prefix", without_prefix),
        ("prefix's role", without_prefix),
        ("prefix's role", cut),
        ("later windows", cut),
        ("later windows", shorter),
        ("later windows", other_card),
        ("charged once", cut),
        ("charged once", doubled),
    ],
)
def test_a_scorer_that_is_wrong_fails(name: str, scorer: Callable[..., Any]) -> None:
    assert CHECKS[name].run(barrow_scorer).passed
    assert not CHECKS[name].run(scorer).passed


def test_an_honest_card_of_the_models_length_fails_too() -> None:
    """Two models then have two cards, where one protocol should give one."""

    def honest(model: Any, protocol: Any, documents: Any, **how: Any) -> Any:
        context = None if model.max_length else 16
        return barrow_scorer(model, replace(protocol, context=context), documents, **how)

    assert not CHECKS["model's length"].run(honest).passed


def test_charges_are_counted_document_by_document() -> None:
    found = CHECKS["charged once"].run(cut)
    # Of each protocol's 25 documents all but the empty one lack a token.
    assert found == Verdict(False, "10 protocols, 240 documents wrong, none too long")
