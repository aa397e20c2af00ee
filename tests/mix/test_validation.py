"""Validation text for all proxies at once, by the scorer's definition (BEYOND-1, BEYOND-6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from tests.mix.conftest import WORDS

from barrow import Document
from barrow.errors import ConfigError
from barrow.mix.validation import Validation, validation_texts
from barrow.score import ScoredCorpus, open_model, score
from barrow.score.scored_corpus import Text
from barrow.tokens import load
from barrow.train import Run

pytestmark = pytest.mark.usefixtures("one_device")


@pytest.fixture(scope="module")
def validation(texts: list[Text]) -> Validation:
    return Validation.of(texts, load("bytes"), context=16)


def test_a_proxy_has_the_numbers_and_the_card_of_barrow_score(
    validation: Validation, texts: list[Text], alone: list[tuple[Path, Any]], tiny: Run
) -> None:
    params = jax.tree.map(lambda *x: np.stack(x), *(state.params for _, state in alone[:2]))
    nats = validation.nats(tiny.model.module(unroll=True), params, batch_tokens=256)
    bits = validation.bits_per_byte(nats)
    corpus = ScoredCorpus(
        "validation", None, [Document(t.text.decode(), {"pile_set_name": t.domain}) for t in texts]
    )
    result = score(open_model(str(alone[1][0])), corpus)
    assert result is not None
    assert result.documents is not None
    assert result.card.hash == validation.card
    assert validation.domains == tuple(row.name for row in result.domains) == tuple(WORDS)
    np.testing.assert_allclose(bits[1], [row.bpb for row in result.domains], rtol=1e-5)
    np.testing.assert_allclose(nats[1], result.documents.nats, rtol=1e-5)
    assert np.abs(bits[0] - bits[1]).min() > 1e-2


def test_it_is_written_and_read(validation: Validation, tmp_path: Path) -> None:
    validation.write(tmp_path / "validation.safetensors")
    again = Validation.read(tmp_path / "validation.safetensors")
    assert (again.card, again.domains, again.context) == (validation.card, tuple(WORDS), 16)
    for name in ("domain", "bytes", "unseen", "ids", "offsets", "scored", "document"):
        np.testing.assert_array_equal(getattr(again, name), getattr(validation, name))


def test_every_token_is_scored_once(validation: Validation, texts: list[Text]) -> None:
    """Bytes are tokens here; documents begin with a token of their own."""
    by_document = np.bincount(validation.document, validation.scored)
    np.testing.assert_array_equal(by_document, [len(text.text) for text in texts])


def test_each_domain_has_its_first_documents() -> None:
    texts = [Text(k, "AB"[k % 2], None, b"x" * 10) for k in range(8)]
    texts += [Text(8, "C", None, b"")]
    assert [text.number for text in validation_texts(texts, most_bytes=15)] == [0, 1, 2, 3]
    with pytest.raises(ConfigError, match="no validation text"):
        validation_texts(texts[8:], most_bytes=15)
