"""A small decoder of bytes, and documents of three domains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.engine import Engine
from barrow.models import Decoder, DecoderConfig, RobertaConfig, save
from barrow.nn import take_apart
from barrow.tokens import load, tokenize

ROBERTA = RobertaConfig(
    vocab_size=40, width=16, layers=2, heads=2, hidden=24, positions=20, dropout=0.0
)
CONFIG = DecoderConfig(vocab_size=259, width=16, layers=2, heads=2, hidden=24, context=48)


def drawn(model: Any, *example: Any) -> Any:
    """Random parameters; drawn by NumPy, which need not compile anything."""
    shapes = jax.eval_shape(model.init, jax.random.key(0), *example)
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.4 * rng.standard_normal(s.shape), s.dtype), shapes)


@pytest.fixture(scope="session")
def decoder() -> tuple[Decoder, Any]:
    """Layers unrolled, and their parameters a tuple."""
    model = Decoder(CONFIG, unroll=True)
    return model, take_apart(drawn(model, *CONFIG.example), "layers")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same decoder in a Hugging Face folder."""
    path = tmp_path_factory.mktemp("model") / "original"
    model = Decoder(CONFIG)
    params = drawn(model, *CONFIG.example)
    save(path, model, params, tokenizer="bytes", begin=256, stops=(256,))
    return path


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of three domains, all different."""
    path = tmp_path_factory.mktemp("corpus") / "texts.jsonl"
    lines = [
        {
            "text": f"{domain} number {n}: " + "stone mound cart "[n % 5 :] * (2 + n % 3),
            "meta": {"pile_set_name": domain},
        }
        for n in range(6)
        for domain in ("Books", "Code", "Letters")
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="session")
def store(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A token store of those documents, in bytes."""
    out = tmp_path_factory.mktemp("store") / "store"
    tokenize(corpus, tokenizer=load("bytes"), out=out, engine=Engine("local", 0))
    return str(out)
