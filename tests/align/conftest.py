"""A tiny chat model in Hugging Face's format: bytes, three special tokens, a template."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from barrow.models.decoder.model import DecoderConfig
from barrow.models.save import save
from barrow.nn.attention.rotary import Rotary
from barrow.weights.hub.cache import cache_folder

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|start|>{{ message.role }}\n"
    "{% if message.role == 'assistant' %}{% generation %}{{ message.content }}<|end|>"
    "{% endgeneration %}{% else %}{{ message.content }}<|end|>{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
CONFIG = DecoderConfig(
    vocab_size=259,
    width=16,
    layers=2,
    heads=4,
    kv_heads=2,
    hidden=32,
    context=128,
    norm="rms",
    activation="silu",
    gated=True,
    rotary=Rotary(),
    attention_bias=False,
    out_bias=False,
    mlp_bias=False,
    tied=False,
    init_std=0.1,
)


def write_tokenizer(folder: Path, *, template: bool = True) -> None:
    """tokenizer.json and tokenizer_config.json of bytes."""
    alphabet = {
        letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))
    }
    inner = Tokenizer(models.BPE(alphabet, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(
        [AddedToken(name, special=True) for name in ("<|begin|>", "<|start|>", "<|end|>")]
    )
    folder.mkdir(parents=True, exist_ok=True)
    inner.save(str(folder / "tokenizer.json"))
    settings = {"bos_token": "<|begin|>", "eos_token": "<|end|>"}
    if template:
        settings["chat_template"] = TEMPLATE
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


@pytest.fixture(scope="module", autouse=True)
def compiled_once() -> Iterator[None]:
    """What was compiled once is kept, where the command keeps it: runs share their programs."""
    from jax.experimental.compilation_cache import compilation_cache

    from barrow.models.compile_cache import keep_compiled

    before = jax.config.jax_compilation_cache_dir
    keep_compiled(cache_folder(os.environ) / "compiled")
    compilation_cache.reset_cache()
    yield
    jax.config.update("jax_compilation_cache_dir", before)
    compilation_cache.reset_cache()


@pytest.fixture(scope="session")
def chat_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model that renders chats."""
    return make_model(tmp_path_factory.mktemp("chat"))


def make_model(folder: Path, *, template: bool = True) -> Path:
    """The model in a folder."""
    write_tokenizer(folder / "words", template=template)
    model = CONFIG.module()
    params = model.init(jax.random.key(1), *CONFIG.example)
    out = folder / "model"
    save(out, model, params, tokenizer=folder / "words", begin=256, stops=(258,))
    return out
