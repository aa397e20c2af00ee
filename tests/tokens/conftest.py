"""A small byte-level vocabulary, and texts that tokenizers have stumbled over."""

from __future__ import annotations

import importlib.util
import random

import pytest

import barrow.tokens
from barrow.tokens import JsonTokenizer

ENCODERS = ["reference", *(["fast"] if importlib.util.find_spec("fastokens") else [])]

STRANGE = [
    "",
    " ",
    "\x00",
    "a\x00b\x01\x7f\x85",
    "e\u0301\u0301 \u20e3",
    "👩\u200d👩\u200d👧 🏳️\u200d🌈 👍🏽 🇩🇪",
    "<|endoftext|> <s></s> [CLS] <pad> <0x0A> ▁ Ġ Ċ",
    "it's IT'S we'Ve they'll I'd x'ſ",
    "日本語 한국어 ไทย ½ ² Ⅷ ٣",
    "1 12 123 1234567890",
    "\r\n\n\n \t  \u2028\u3000\u200b\ufeff ",
    "\U0010ffff\ue000\ufffe\U000e0001\U000323b0",
    " " * 300 + "x",
    "a" * 5000,
    "=" * 500 + "\n" * 500,
]

_WORDS = ["the", "barrow", "carries", "stones", "to", "a", "mound", "it's", "they'll", "naïve"]
_WORDS += ["日本語", "привет", "🙂", "1234", "==", "def"]


def made_text(num_words: int, seed: int) -> str:
    """Words of many kinds, and what stands between them."""
    rng = random.Random(seed)
    gaps = [" ", " ", " ", "\n", "  ", ", ", ".\n\n", "\t"]
    return "".join(rng.choice(_WORDS) + rng.choice(gaps) for _ in range(num_words))


@pytest.fixture(scope="session")
def trained() -> JsonTokenizer:
    """Three hundred and some ids, learnt from a few thousand words."""
    return barrow.tokens.train([made_text(3000, seed) for seed in range(3)], vocab_size=400)


@pytest.fixture(params=ENCODERS)
def encoder(request: pytest.FixtureRequest) -> bool:
    """Whether the fast library encodes: every one that is installed."""
    return bool(request.param == "fast")


@pytest.fixture(scope="session")
def strange() -> list[str]:
    return STRANGE
