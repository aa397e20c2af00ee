"""An archive to tokenize, and its store."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.tokens.stores import INLINE, SMALL, some_documents, write_archive

from barrow import Document
from barrow.tokens import TokenStore, load, open_store, tokenize


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
    return Path(shutil.copytree(first_store.told.corpus.path, tmp_path / "archive"))


@pytest.fixture
def store(tmp_path: Path, first_store: TokenStore, archive: Path) -> TokenStore:
    folder = shutil.copytree(first_store.folder, tmp_path / "store")
    text = (folder / "store.json").read_text()
    (folder / "store.json").write_text(text.replace(first_store.told.corpus.path, str(archive)))
    return open_store(folder)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., TokenStore]:
    """Tokenize an archive by bytes, in this process."""

    def make(corpus: Path | str, name: str = "store", **options: object) -> TokenStore:
        options = {"engine": INLINE, "sizes": SMALL, "tokenizer": load("bytes"), **options}
        return tokenize(corpus, out=tmp_path / name, **options)  # type: ignore[arg-type]

    return make
