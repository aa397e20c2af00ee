"""A small vocabulary, texts that tokenizers have stumbled over, an archive and its store."""

from __future__ import annotations

import importlib.util
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.tokens.stores import INLINE, SMALL, some_documents, write_archive

import barrow.tokens
from barrow import Document
from barrow.tokens import JsonTokenizer, TokenStore, load, open_store, tokenize

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


@pytest.fixture(scope="session")
def first_store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """A store, with its archive beside it, that no test changes."""
    folder = tmp_path_factory.mktemp("first")
    archive = write_archive(folder / "archive", some_documents(300))
    out = folder / "store"
    return tokenize(archive, tokenizer=load("bytes"), out=out, engine=INLINE, sizes=SMALL)


@pytest.fixture
def documents() -> list[Document]:
    return some_documents(300)


@pytest.fixture
def archive(tmp_path: Path, first_store: TokenStore) -> Path:
    return Path(shutil.copytree(first_store.manifest.corpus.path, tmp_path / "archive"))


@pytest.fixture
def store(tmp_path: Path, first_store: TokenStore, archive: Path) -> TokenStore:
    opened = open_store(shutil.copytree(first_store.folder, tmp_path / "store"))
    assert opened.manifest.corpus.path == str(archive)  # relative to the store
    return opened


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., TokenStore]:
    """Tokenize an archive by bytes, in this process."""

    def make(corpus: Path | str, name: str = "store", **options: object) -> TokenStore:
        options = {"engine": INLINE, "sizes": SMALL, "tokenizer": load("bytes"), **options}
        return tokenize(corpus, out=tmp_path / name, **options)  # type: ignore[arg-type]

    return make
