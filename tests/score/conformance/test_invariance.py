from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from barrow.score.conformance.check import Check, barrow_scorer, rows
from barrow.score.conformance.invariance import SmallDecoder, invariance_checks, small_decoder
from barrow.score.models.model import Model


@pytest.fixture(scope="module")
def small() -> SmallDecoder:
    return small_decoder(devices=jax.local_devices()[:2])


def check(name: str, small: SmallDecoder) -> Check:
    return {check.name: check for check in invariance_checks(small)}[name]


def by_place(*given: Any, **how: Any) -> Any:
    """Each document's nats depend on where it stands."""
    result = barrow_scorer(*given, **how)
    held = rows(result)
    return replace(result, documents=replace(held, nats=held.nats + 1e-9 * np.arange(len(held))))


def other_card(model: Any, protocol: Any, documents: Any, **how: Any) -> Any:
    """A digest that depends on the order."""
    result = barrow_scorer(model, protocol, documents, **how)
    ground = replace(result.card.ground, digest=documents[0].text)
    return replace(result, card=replace(result.card, ground=ground))


def by_group(*given: Any, group_bytes: int = Model.group_bytes) -> Any:
    result = barrow_scorer(*given, group_bytes=group_bytes)
    held = rows(result)
    nats = held.nats * (1 + 1e-15 * group_bytes)
    return replace(result, documents=replace(held, nats=nats))


@pytest.mark.parametrize(
    ("name", "scorer"), [("order", by_place), ("order", other_card), ("groups", by_group)]
)
def test_a_scorer_that_is_wrong_fails(
    name: str, scorer: Callable[..., Any], small: SmallDecoder
) -> None:
    assert check(name, small).run(barrow_scorer).passed
    assert not check(name, small).run(scorer).passed


class Off:
    """A model whose logarithms are a little off."""

    def __init__(self, model: Any) -> None:
        self.tokenizer, self.max_length, self._model = model.tokenizer, model.max_length, model

    def log_probs(self, rows: Sequence[Any]) -> list[Any]:
        return [1.00001 * logs for logs in self._model.log_probs(rows)]


@pytest.mark.parametrize(
    ("name", "part"), [("decoder", "batched"), ("batches", "one_row"), ("devices", "all_devices")]
)
def test_a_decoder_that_is_off_fails(name: str, part: str, small: SmallDecoder) -> None:
    assert check(name, small).run(barrow_scorer).passed
    broken = replace(small, **{part: Off(getattr(small, part))})
    assert not check(name, broken).run(barrow_scorer).passed


def test_the_devices_are_two(small: SmallDecoder) -> None:
    assert check("devices", small).run(barrow_scorer).numbers.startswith("1 beside 2, off by ")
    assert small.all_devices is not small.batched
    assert (one := small_decoder(devices=jax.local_devices()[:1])).all_devices is one.batched
