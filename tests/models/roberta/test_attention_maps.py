from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from barrow.models.load import load
from barrow.models.roberta.attention_maps import attention_maps, attention_page, hidden_states

TOKENS = np.array([[0, 9, 8, 7, 2]])


def test_a_model_with_a_head_has_the_same_inside(roberta_folder: Callable[[str], Path]) -> None:
    """Values are compared with those of transformers in test_roberta.py."""
    loaded = load(roberta_folder("tag"), unstack=False)
    body = loaded.model.body
    whole = hidden_states(loaded.model, loaded.params, TOKENS)
    assert np.array_equal(whole, hidden_states(body, loaded.params, TOKENS))
    assert whole.shape == (3, 1, 5, 32)
    assert attention_maps(loaded.model, loaded.params, TOKENS).shape == (2, 1, 4, 5, 5)


RNG = np.random.default_rng(0)
WORDS = ["<s>", "</script><b>", " naïve", "\n", "</s>"]


def maps_of(num: int) -> np.ndarray:
    maps = RNG.random((2, 3, num, num)).astype(np.float32)
    return maps / maps.sum(-1, keepdims=True)  # type: ignore[no-any-return]


def test_the_maps_are_in_the_page() -> None:
    """ROBERTA-6: tokens and every share, to 1/65535; no text ends the script or becomes HTML."""
    maps = maps_of(5)
    page = attention_page(maps, WORDS, text="</script><b>&", model="<m>", note="n & m")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert data is not None
    told = json.loads(data[1])
    assert told["tokens"] == WORDS
    assert (told["layers"], told["heads"]) == (2, 3)
    shares = np.frombuffer(base64.b64decode(told["shares"]), "<u2").reshape(maps.shape) / 65535
    np.testing.assert_allclose(shares, maps, atol=1e-5)
    assert "<b>" not in page
    assert "<m>" not in page
    assert "n &amp; m" in page
    assert page.count("<script") == 2
    assert page == attention_page(maps, WORDS, text="</script><b>&", model="<m>", note="n & m")


def test_nothing_is_fetched_and_one_program_runs() -> None:
    page = attention_page(maps_of(5), WORDS, text="x")
    assert re.search(r"script-src &#x27;sha256-[\w+/=]+&#x27;", page)
    assert not re.search(r"(src|href)=", page)
    assert "http:" not in page
    assert "https:" not in page


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"be \[layers, heads, 5, 5\], got \[2, 3, 4, 4\]"):
        attention_page(maps_of(4), WORDS, text="x")
    with pytest.raises(ValueError, match="a page shows at most 256 tokens, got 257"):
        attention_page(np.zeros((1, 1, 257, 257)), ["x"] * 257, text="x")
