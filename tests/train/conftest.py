"""Small token stores and small runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import barrow
from barrow import Document
from barrow.engine import Engine
from barrow.models import DecoderConfig
from barrow.stream.choices import Choices
from barrow.tokens import load, tokenize
from barrow.train import CheckpointSettings, Run
from barrow.train.optimizers import OptimizerSettings
from barrow.train.schedules import Schedule


def make_store(folder: Path, *, seed: int, num: int = 60) -> Path:
    """A store of bytes, of two domains whose texts are easy to guess."""
    rng = random.Random(seed)
    with barrow.archive.Writer(folder / "archive") as writer:
        for number in range(num):
            words = rng.choices(["stone", "cart", "mound", "barrow"], k=5 + number % 13)
            meta = {"pile_set_name": "AB"[number % 2], "id": f"{number + 1:016x}-{seed:08x}"}
            writer.add(Document(" ".join(words), meta))
    tokenize(
        folder / "archive", tokenizer=load("bytes"), out=folder / "store", engine=Engine("local", 0)
    )
    return folder / "store"


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("train"), seed=1)


@pytest.fixture(scope="session")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("held_out"), seed=2, num=13)


@pytest.fixture
def run(store: Path) -> Run:
    """Eight steps of a model of some thousand parameters."""
    return Run(
        model=DecoderConfig(vocab_size=259, width=16, layers=1, heads=2, hidden=32, context=16),
        data=Choices(seq_len=16, batch=8, seed=3),
        steps=8,
        store=str(store),
        optimizer=OptimizerSettings(schedule=Schedule(peak=1e-2, warmup=2)),
        checkpoint=CheckpointSettings(every=3),
        log_every=2,
    )


class Told:
    """A tracker that remembers."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def begin(self, run: Any, start: int) -> None:
        self.calls.append(("begin", run, start))

    def log(self, step: int, values: Any) -> None:
        self.calls.append((step, dict(values)))

    def close(self) -> None:
        self.calls.append("close")


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def with_model(run: Run) -> Callable[..., Run]:
    """The run with other settings of its model."""
    return lambda **changes: replace(run, model=replace(run.model, **changes))


@pytest.fixture(scope="session")
def compiled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture(scope="module")
def compiled_once(compiled_folder: Path) -> Iterator[Path]:
    """Programs that were compiled once are kept on disk: runs of the same settings share them."""
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    wanted = {
        "jax_compilation_cache_dir": str(compiled_folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in wanted}
    for name, value in wanted.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield compiled_folder
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
