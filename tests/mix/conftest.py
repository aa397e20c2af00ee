"""A small corpus of three domains, its token store, and runs of tiny models on it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import barrow
from barrow import Document
from barrow.engine import Engine
from barrow.models.decoder.model import DecoderConfig
from barrow.score.scored_corpus import Text, open_corpus
from barrow.stream import StreamSettings
from barrow.tokens import load, tokenize
from barrow.train import AdamW, CheckpointSettings, Cosine, Run, fit

WORDS = {
    "Barrows": ["stone", "cart", "mound", "barrow"],
    "Code": ["def", "x_1", "= 0", "():"],
    "Numbers": ["10", "22", "505", "7"],
}
MIXTURES = [{"Barrows": 1.0}, {"Barrows": 0.25, "Code": 0.75}, {"Code": 0.2, "Numbers": 0.8}]


def write_corpus(folder: Path, *, seed: int = 0, domains: tuple[str, ...] = tuple(WORDS)) -> Path:
    """Documents to train on, and a validation split."""
    rng = random.Random(seed)
    for split, num in ((".", 40), ("validation", 6)):
        with barrow.archive.Writer(folder / split) as writer:
            for number in range(num):
                for domain in domains:
                    text = " ".join(rng.choices(WORDS[domain], k=12 + number % 7))
                    writer.add(Document(text, {"pile_set_name": domain}))
    return folder


def make_store(corpus: Path, out: Path) -> Path:
    tokenize(corpus, tokenizer=load("bytes"), out=out, engine=Engine("local", 0))
    return out


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("mix") / "corpus")


@pytest.fixture(scope="session")
def store(corpus: Path) -> Path:
    return make_store(corpus, corpus.parent / "store")


@pytest.fixture(scope="session")
def texts(corpus: Path) -> list[Text]:
    return list(open_corpus(corpus, split="validation"))


@pytest.fixture(scope="session")
def tiny(store: Path) -> Run:
    return Run(
        model=DecoderConfig(vocab_size=259, width=16, layers=1, heads=2, hidden=32, context=16),
        data=StreamSettings(seq_len=16, batch=8, seed=3),
        steps=8,
        store=str(store),
        optimizer=AdamW(Cosine(peak=1e-2, warmup=2)),
        checkpoint=CheckpointSettings(every=5),
        log_every=1,
        unroll=True,
    )


@contextmanager
def remembered(folder: Path) -> Iterator[None]:
    """On one device, with programs kept on disk: those of the same settings are compiled once."""
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    wanted = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in wanted}
    first = jax.devices()[:1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "devices", lambda: first)
        for name, value in wanted.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()
        yield
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture
def one_device(programs: Path) -> Iterator[None]:
    with remembered(programs):
        yield


@pytest.fixture(scope="session")
def alone(
    tiny: Run, programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[Path, Any]]:
    """The folder and the last state of a run of `train` on each mixture, on one device."""
    found = []
    with remembered(programs):
        for number, mixture in enumerate(MIXTURES):
            folder = tmp_path_factory.mktemp(f"alone{number}")
            run = replace(tiny, data=replace(tiny.data, weights=mixture))
            found.append((folder, fit(run, folder)))
    return found
