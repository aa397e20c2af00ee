"""What all tests share: eight virtual devices, hypothesis profiles, and small data made here."""

from __future__ import annotations

import functools
import gc
import importlib
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

# The older emitters make machine code of the same programs in 60 % of the time. An unknown flag
# ends the process, so they are asked for where they are known.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_force_host_platform_device_count=8"
    + (
        " --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
        if version("jaxlib").startswith("0.10.")
        else ""
    ),
)
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("DO_NOT_TRACK", "true")
# A program that was compiled by an earlier run says nothing of what compiling it does.
os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)

# Tests compile many programs and run each once, on little data: machine code is made plainly, in
# half the time: the same programs, other machine code. `make soak` runs what users run.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

# A shell that runs the tests in the background has its children ignore Ctrl-C, which some test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
import typer.main
from hypothesis import HealthCheck, settings
from tests.pages.chromium import NAMES, Chromium, Page, find_chromium

import barrow
from barrow import Document

_quiet = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}
# The same examples every time: what is found by chance belongs to `make soak`.
settings.register_profile("default", max_examples=60, derandomize=True, **_quiet)
settings.register_profile("soak", max_examples=3000, **_quiet)
settings.load_profile("default")


def pytest_collection_finish() -> None:
    """What was imported stays: the collector of garbage need not look through it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # tracing makes much, and little of it lasts


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes by their number: gzip puts the time in, and names must be the same in every process."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


WORDS = ["the", "of", "barrow", "mound", "stone", "carries", "na\u00efve", "日本語", "Привет", "🙂"]
WORDS += ["e\u0301", "\\", '"', "/", "\t", "\r\n", "\x00", "\u2028"]


def make_documents(num: int, *, seed: int = 0, mean_words: int = 60) -> list[Document]:
    """Varied documents: many lengths, scripts, escapes, domains; some empty."""
    rng = random.Random(seed)
    documents = []
    for number in range(num):
        length = int(rng.expovariate(1 / mean_words)) if rng.random() > 0.05 else 0
        text = " ".join(rng.choices(WORDS, k=length))
        meta = {"pile_set_name": rng.choice(["A", "B", "Ünïcode"]), "number": number}
        documents.append(Document(text, meta))
    return documents


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache of every test of this run: the user's own is neither read nor written."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BARROW_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def no_power_cut() -> Iterator[None]:
    """Nobody cuts the power: no test waits for the disk. Tests of the order of writes patch it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def commands_made_once() -> Iterator[None]:
    """Typer makes every verb and option anew for each call: that is most of a short one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(autouse=True)
def programs_kept_where_they_were() -> Iterator[None]:
    """Have commands that keep compiled programs leave JAX's choice of a folder as it was.

    JAX opens its cache once and knows one folder from then on, so it is told to open it anew.
    """

    def chosen() -> str | None:
        return sys.modules["jax"].config.jax_compilation_cache_dir if "jax" in sys.modules else None

    before = chosen()
    yield
    if chosen() != before:
        import jax
        from jax.experimental.compilation_cache import compilation_cache

        jax.config.update("jax_compilation_cache_dir", before)
        compilation_cache.reset_cache()


@pytest.fixture
def one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of the eight devices alone: less is compiled and run."""
    import jax

    first = jax.devices()[:1]
    monkeypatch.setattr(jax, "devices", lambda: first)


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    return make_documents(1000)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write documents to a shard of small frames; give its path."""

    def write(documents: list[Document], name: str = "shard.jsonl.zst", **options: object) -> Path:
        path = tmp_path / name
        options.setdefault("frame_size", 4096)
        with barrow.archive.Writer(path, **options) as writer:  # type: ignore[arg-type]
            writer.extend(documents)
        return path

    return write


@pytest.fixture
def shard(write: Callable[..., Path], documents: list[Document]) -> Path:
    """A shard of a thousand documents in some dozens of frames."""
    return write(documents)


@pytest.fixture
def folder(write: Callable[..., Path], documents: list[Document]) -> Path:
    """An archive of several shards."""
    return write(documents, "archive", shard_size=60_000)


@pytest.fixture(params=["compiled", "general"])
def either_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with the compiled scanner and without it."""
    from barrow.archive import scan

    if request.param == "general":
        monkeypatch.setattr(scan, "_scan", None)
    return str(request.param)


@pytest.fixture(scope="session")
def made() -> Any:
    """Corpora for the tests of takedowns."""
    return importlib.import_module("tests.corpus.takedown_corpora")


@pytest.fixture(scope="session")
def roberta() -> Any:
    """Small RoBERTas of `transformers`."""
    return importlib.import_module("tests.models.roberta_models")


@pytest.fixture(scope="session")
def roberta_folder(roberta: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder of one of these, by kind; made once, and not to be changed."""
    made: dict[str, Path] = {}

    def get(kind: str) -> Path:
        if kind not in made:
            made[kind] = roberta.save(tmp_path_factory.mktemp("roberta") / kind, kind)
        return made[kind]

    return get


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser for all tests."""
    program = find_chromium()
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    browser = Chromium(program, tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture
def show(browser: Chromium) -> Iterator[Callable[..., Page]]:
    """Open a file or an address; tabs are closed in the end, and must not have complained."""
    pages: list[Page] = []

    def show(where: Path | str, *, after: str = "", **options: object) -> Page:
        url = where if isinstance(where, str) else where.as_uri()
        pages.append(browser.page(url + after, **options))  # type: ignore[arg-type]
        return pages[-1]

    yield show
    complaints = [complaint for tab in pages for complaint in tab.complaints()]
    for tab in pages:
        tab.close()
    assert complaints == []
