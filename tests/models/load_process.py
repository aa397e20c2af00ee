"""Loads a folder on a mesh, and prints how much memory that took beside the arrays themselves."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from barrow.models.huggingface.config import config_of
from barrow.models.huggingface.names import lines_of
from barrow.models.load import load
from barrow.models.sources import open_source
from barrow.parallel import ZERO, make_mesh, placing
from barrow.weights import LazyTensor, Tensors, write_safetensors
from barrow.weights.foreign_model import llama_config


def written(folder: Path, *, width: int, layers: int, vocab: int) -> Path:
    """A Llama of random numbers, of which all tensors are parts of the same few."""
    config = llama_config(
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=16,
        num_key_value_heads=8,
        vocab_size=vocab,
        max_position_embeddings=256,
        rms_norm_eps=1e-5,
        rope_theta=10_000.0,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
    )
    kind = np.dtype("bfloat16")
    some = np.random.default_rng(0).standard_normal(1 << 16, np.float32).astype(kind)

    def read(shape: tuple[int, ...]) -> Any:
        return np.resize(some, shape)

    shapes = {
        line.key.format(i): line.shape
        for line in lines_of("llama", config_of(config))
        for i in range(layers if line.is_layered else 1)
    }
    tensors = {
        name: LazyTensor(shape, kind, partial(read, shape)) for name, shape in shapes.items()
    }
    write_safetensors(folder / "model.safetensors", Tensors(tensors))
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def kilobytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def main(folder: str, mesh: str, dtype: str) -> None:
    sizes = json.loads(mesh)
    place = None if sizes is None else placing(ZERO[3].masters, make_mesh(**sizes))
    jax.block_until_ready(jax.jit(jnp.sin)(jnp.ones(8)))
    if os.environ.get("TINY"):
        load(os.environ["TINY"], dtype=dtype, place=place)  # what is made once: programs, tables
    before = kilobytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the highest mark begins here
    loaded = load(folder, dtype=dtype, place=place)
    peak = kilobytes("VmHWM") - before
    leaves = jax.tree.leaves(loaded.params)
    on_host = jax.default_backend() == "cpu"
    arrays = on_host * sum(s.data.nbytes for leaf in leaves for s in leaf.addressable_shards)
    tensors = open_source(folder).tensors
    # In the larger of the types of the file and of the parameters.
    width = jnp.dtype(dtype).itemsize
    largest = max(
        tensors.entry(n).num_elements * max(width, tensors.entry(n).dtype.itemsize) for n in tensors
    )
    sys.stdout.write(
        json.dumps({"extra": peak * 1024 - arrays, "arrays": arrays, "largest": largest})
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
