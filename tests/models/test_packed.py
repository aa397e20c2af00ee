"""DEEPSPEED-4: GGUF's integers are used as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from barrow.models.load import load
from barrow.models.quantized import is_quantized_tree
from barrow.nn.weights.grouped import Grouped
from barrow.nn.weights.kernels import is_weight

WIDTH, HIDDEN, HEADS, KEYS, VOCAB = 64, 96, 4, 2, 259


def written(path: Path, kind: gguf.GGMLQuantizationType) -> Path:
    """A Llama of two layers with random weights, by the library `gguf`."""
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_context_length(32)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEYS)
    writer.add_layer_norm_rms_eps(1e-5)
    keys = WIDTH // HEADS * KEYS
    shapes = {
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (keys, WIDTH),
        "attn_v": (keys, WIDTH),
        "attn_output": (WIDTH, WIDTH),
        "ffn_gate": (HIDDEN, WIDTH),
        "ffn_up": (HIDDEN, WIDTH),
        "ffn_down": (WIDTH, HIDDEN),
    }

    def add(name: str, *shape: int) -> None:
        data = (0.3 * rng.normal(size=shape)).astype(np.float32)
        is_kernel = len(shape) == 2 and "embd" not in name
        stored = gguf.quantize(data, kind) if is_kernel else data
        writer.add_tensor(f"{name}.weight", stored, raw_dtype=kind if is_kernel else None)

    add("token_embd", VOCAB, WIDTH)
    add("output_norm", WIDTH)
    add("output", VOCAB, WIDTH)
    for layer in range(2):
        for name in ("attn_norm", "ffn_norm"):
            add(f"blk.{layer}.{name}", WIDTH)
        for name, shape in shapes.items():
            add(f"blk.{layer}.{name}", *shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0"])
def test_stored_integers_compute_what_expanded_ones_do(kind: str, tmp_path: Path) -> None:
    path = written(tmp_path / "model.gguf", gguf.GGMLQuantizationType[kind])
    plain, packed = load(path, unstack=True), load(path, unstack=True, packed=True)
    weights = [x for x in jax.tree.leaves(packed.params, is_leaf=is_weight) if is_weight(x)]
    assert len(weights) == 2 * 7 + 1
    assert all(isinstance(x, Grouped) and x.bits == int(kind[1]) for x in weights)
    sizes = [sum(x.nbytes for x in jax.tree.leaves(one.params)) for one in (plain, packed)]
    assert sizes[1] < 0.5 * sizes[0]
    model: Any = plain.model
    run = jax.jit(lambda params: model.apply(params, jnp.arange(20)[None])[0])
    np.testing.assert_allclose(run(packed.params), run(plain.params), rtol=1e-4, atol=1e-4)


def test_other_types_are_expanded_and_stacks_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "model.gguf", gguf.GGMLQuantizationType.Q5_0)
    assert not is_quantized_tree(load(path, unstack=True, packed=True).params)
    with pytest.raises(ValueError, match="single layers on one device: pass unstack"):
        load(path, packed=True)
