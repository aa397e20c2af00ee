from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import roberta_models

from barrow.models.load import load
from barrow.models.roberta.fill import fill
from barrow.models.text import open_tokenizer
from barrow.tokens import ByteTokenizer

ONE = "Paris is the <mask> of France."
TWO = "<mask> is the capital of <mask>, naïve 🙂 <mask>"


@pytest.fixture(scope="module")
def loaded(roberta_folder: Callable[[str], Path]) -> Any:
    return load(roberta_folder("mlm"), unstack=True)


@pytest.mark.parametrize("text", [ONE, TWO, "<mask>"])
def test_as_the_pipeline_of_transformers(text: str, loaded: Any) -> None:
    """ROBERTA-1: the same tokens, scores, texts; with several masks a list for each."""
    found = fill(loaded.model, loaded.params, open_tokenizer(loaded.tokenizer), text, top=7)
    expected = roberta_models.filled(text, top_k=7)
    expected = [expected] if isinstance(expected[0], dict) else expected
    assert len(found) == len(expected) == text.count("<mask>")
    for ours, theirs in zip(found, expected, strict=True):
        assert [f.token for f in ours] == [t["token"] for t in theirs]
        assert [f.token_text for f in ours] == [t["token_str"] for t in theirs]
        assert [f.text for f in ours] == [t["sequence"] for t in theirs]
        np.testing.assert_allclose(
            [f.score for f in ours], [t["score"] for t in theirs], rtol=1e-3, atol=1e-6
        )


def test_bad_input(loaded: Any, roberta_folder: Callable[[str], Path]) -> None:
    reader = open_tokenizer(loaded.tokenizer)

    def ask(text: str, **options: Any) -> Any:
        return fill(loaded.model, loaded.params, reader, text, **options)

    with pytest.raises(ValueError, match="the text has no <mask>; write it where"):
        ask("Paris")
    with pytest.raises(ValueError, match="top must be from 1 to 330, got 0"):
        ask(ONE, top=0)
    long = "Paris " * 100 + "<mask>"
    with pytest.raises(ValueError, match="tokens, but the model takes 64"):
        ask(long)
    with pytest.raises(ValueError, match="tokens were cut off its end"):
        ask(long, truncate=True)
    bare = load(roberta_folder("bare"))
    with pytest.raises(ValueError, match="the model has no LM head"):
        fill(bare.model, bare.params, reader, ONE)
    nameless = ByteTokenizer()
    nameless.mask = None  # type: ignore[assignment]
    with pytest.raises(ValueError, match="the tokenizer has no mask token"):
        fill(loaded.model, loaded.params, nameless, "a")
