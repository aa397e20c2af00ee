"""llama2.c's checkpoints: the imported model in transformers against run.c, told again here."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from barrow.errors import WeightsError
from barrow.weights import open_llama2c, open_safetensors, save_huggingface

DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, VOCAB, SEQ = 24, 40, 2, 6, 3, 30, 16
HEAD = DIM // HEADS
ORDER = [
    ("embed", (VOCAB, DIM)),
    ("rms_att", (LAYERS, DIM)),
    ("wq", (LAYERS, DIM, DIM)),
    ("wk", (LAYERS, KV_HEADS * HEAD, DIM)),
    ("wv", (LAYERS, KV_HEADS * HEAD, DIM)),
    ("wo", (LAYERS, DIM, DIM)),
    ("rms_ffn", (LAYERS, DIM)),
    ("w1", (LAYERS, HIDDEN, DIM)),
    ("w2", (LAYERS, DIM, HIDDEN)),
    ("w3", (LAYERS, HIDDEN, DIM)),
    ("rms_final", (DIM,)),
    ("freq_real", (SEQ, HEAD // 2)),
    ("freq_imag", (SEQ, HEAD // 2)),
    ("wcls", (VOCAB, DIM)),
]


def make(*, shared: bool) -> tuple[bytes, dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    order = ORDER[:-1] if shared else ORDER
    weights = {name: rng.normal(size=shape).astype("<f4") * 0.3 for name, shape in order}
    for name in ("rms_att", "rms_ffn", "rms_final"):
        weights[name] = weights[name] + np.float32(1)
    vocab = VOCAB if shared else -VOCAB
    head = struct.pack("<7i", DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, vocab, SEQ)
    return head + b"".join(weights[name].tobytes() for name, _ in order), weights


def rms_norm(x: list[float], gain: np.ndarray) -> list[float]:
    scale = 1 / math.sqrt(sum(v * v for v in x) / len(x) + 1e-5)
    return [float(g) * v * scale for g, v in zip(gain, x, strict=True)]


def matmul(w: np.ndarray, x: list[float]) -> list[float]:
    return (w.astype(np.float64) @ np.array(x)).tolist()


def rotate(x: list[float], position: int) -> list[float]:
    """Neighbours are turned together, by an angle that depends on their place in the head."""
    out = list(x)
    for i in range(0, len(x), 2):
        angle = position / 10000 ** ((i % HEAD) / HEAD)
        c, s = math.cos(angle), math.sin(angle)
        out[i], out[i + 1] = x[i] * c - x[i + 1] * s, x[i] * s + x[i + 1] * c
    return out


def run_c(w: dict[str, np.ndarray], tokens: list[int]) -> np.ndarray:
    """The forward pass of run.c, one position after another, in double precision."""
    keys: list[list[list[float]]] = [[] for _ in range(LAYERS)]
    values: list[list[list[float]]] = [[] for _ in range(LAYERS)]
    logits = []
    for position, token in enumerate(tokens):
        x = w["embed"][token].astype(np.float64).tolist()
        for layer in range(LAYERS):
            xb = rms_norm(x, w["rms_att"][layer])
            q = rotate(matmul(w["wq"][layer], xb), position)
            keys[layer].append(rotate(matmul(w["wk"][layer], xb), position))
            values[layer].append(matmul(w["wv"][layer], xb))
            mixed: list[float] = []
            for head in range(HEADS):
                part = slice(head * HEAD, (head + 1) * HEAD)
                kv = head // (HEADS // KV_HEADS)
                kv_part = slice(kv * HEAD, (kv + 1) * HEAD)
                scores = np.array(keys[layer])[:, kv_part] @ np.array(q[part]) / math.sqrt(HEAD)
                weights = np.exp(scores - scores.max())
                mixed += (weights / weights.sum() @ np.array(values[layer])[:, kv_part]).tolist()
            x = [a + b for a, b in zip(x, matmul(w["wo"][layer], mixed), strict=True)]
            xb = rms_norm(x, w["rms_ffn"][layer])
            gate, up = matmul(w["w1"][layer], xb), matmul(w["w3"][layer], xb)
            inner = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up, strict=True)]
            x = [a + b for a, b in zip(x, matmul(w["w2"][layer], inner), strict=True)]
        x = rms_norm(x, w["rms_final"])
        logits.append(matmul(w.get("wcls", w["embed"]), x))
    return np.array(logits)


@pytest.mark.parametrize("shared", [True, False])
def test_transformers_computes_what_run_c_computes(tmp_path: Path, shared: bool) -> None:
    from transformers import LlamaForCausalLM

    data, weights = make(shared=shared)
    (tmp_path / "m.bin").write_bytes(data)
    model = open_llama2c(tmp_path / "m.bin")
    assert model.config["tie_word_embeddings"] is shared
    assert ("lm_head.weight" in model.tensors) is not shared
    save_huggingface(tmp_path / "hf", model)
    loaded, report = LlamaForCausalLM.from_pretrained(tmp_path / "hf", output_loading_info=True)
    assert not any(report.values())
    tokens = [1, 7, 3, 29, 0, 7, 11, 2, 19]
    with torch.no_grad():
        found = loaded(torch.tensor([tokens])).logits[0].numpy()
    expected = run_c(weights, tokens)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.abs(expected).max() > 1
    # Without the reordering the model would be another one.
    assert not np.allclose(
        open_safetensors(tmp_path / "hf")["model.layers.0.self_attn.q_proj.weight"],
        weights["wq"][0],
    )


def test_tensors_are_views_where_nothing_is_reordered(tmp_path: Path) -> None:
    data, weights = make(shared=True)
    (tmp_path / "m.bin").write_bytes(data)
    tensors = open_llama2c(tmp_path / "m.bin").tensors
    array = tensors["model.layers.1.mlp.down_proj.weight"]
    np.testing.assert_array_equal(array, weights["w2"][1], strict=True)
    assert not array.flags.owndata
    assert tensors.num_elements == sum(
        a.size for name, a in weights.items() if not name.startswith("freq")
    )


def head(*values: int) -> bytes:
    return struct.pack("<7i", *values)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "expected a header of 28 bytes, found 0"),
        (b"24ka" + bytes(252), "a later llama2.c format"),
        (head(0, 1, 1, 1, 1, 1, 1), "sizes must be positive"),
        (head(8, 8, -1, 1, 1, 4, 4), "sizes must be positive"),
        (head(9, 8, 1, 2, 1, 4, 4), "does not divide into"),
        (head(8, 8, 1, 4, 3, 4, 4), "does not divide into"),
        (head(6, 8, 1, 2, 2, 4, 4), "does not divide into"),
        (head(8, 8, 2**31 - 1, 2, 2, 4, 4), "need at least 137,438,953,408 bytes"),
        (head(2**30, 2**30, 1, 2, 2, 4, 4), "need at least"),
        (make(shared=True)[0][:-4], "need 40,508 bytes, found 40,504"),
        (make(shared=True)[0] + b"1234", "truncated, or not in llama2.c's float32 format"),
    ],
)
def test_bad_files(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "m.bin").write_bytes(data)
    with pytest.raises(WeightsError, match=words):
        open_llama2c(tmp_path / "m.bin")
