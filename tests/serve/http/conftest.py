"""A small model with a chat template, served on the loopback by uvicorn."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.tokens.chat.templates import CHATML

from barrow import nn
from barrow.models import Decoder, DecoderConfig, save
from barrow.models.load import load
from barrow.models.text import open_tokenizer
from barrow.serve.http.open import served
from barrow.serve.http.run import Server
from barrow.serve.http.served import Served, ServerSettings
from barrow.serve.programs import EngineSettings
from barrow.tokens import train

CONTEXT = 256
TEXTS = [
    "The barrow carries stones to the mound, one by one. " * 3,
    'It says {"stone": "flint", "heavy": true} and nothing else. ' * 3,
]


@dataclass(frozen=True)
class Running:
    """A server: its address, its model, and the folder that this was opened from."""

    url: str
    port: int
    served: Served
    folder: Path


def drawn(model: nn.Module, *args: Any) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *args)
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.3 * rng.standard_normal(s.shape), s.dtype), shapes)


def client_to(application: Any, **headers: str) -> TestClient:
    """A client of an application, which sends JSON to localhost."""
    return TestClient(
        application,
        base_url="http://localhost",
        headers={"content-type": "application/json", **headers},
    )


@contextmanager
def listening(
    offered: Served, settings: ServerSettings | None = None, *, patience: float = 30.0
) -> Iterator[int]:
    """The port of a server that ends with the block."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listens:
        server = Server(offered, settings or ServerSettings(), patience=patience)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listens]})
        thread.start()
        try:
            yield listens.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face folder of a decoder with a chat template."""
    beside = tmp_path_factory.mktemp("tokenizer")
    tokenizer = train(
        TEXTS, vocab_size=330, specials=("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    )
    tokenizer.save(beside)
    settings = beside / "tokenizer_config.json"
    settings.write_text(settings.read_text().replace("{", '{"eos_token": "<|im_end|>",', 1))
    (beside / "chat_template.jinja").write_text(CHATML)
    config = DecoderConfig(
        vocab_size=tokenizer.vocab_size, width=24, layers=2, heads=2, context=CONTEXT, init_std=0.5
    )
    made = Decoder(config)
    folder = tmp_path_factory.mktemp("models") / "small"
    params = drawn(made, jnp.zeros((1, 1), jnp.int32))
    save(folder, made, params, tokenizer=beside, begin=tokenizer.begin)
    return folder


def opened(folder: Path, *, slots: int = 4, waiting: int = 64) -> Served:
    loaded = load(folder, unstack=True)
    settings = EngineSettings(
        slots=slots, parts=(2,), max_tokens_in_flight=64 * 4 * slots, reads_prompts=True
    )
    tokenizer = open_tokenizer(loaded.tokenizer)
    return served(loaded, tokenizer, name="small", settings=settings, waiting=waiting)


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[Running]:
    offered = opened(folder)
    with listening(offered) as port:
        yield Running(f"http://127.0.0.1:{port}", port, offered, folder)
