"""ROBERTA-7: graphs for ONNX Runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
import torch
import transformers
from tests.models.clip_peers import random_params
from tests.models.conftest import CONFIGS
from tests.models.roberta_models import save as save_roberta

from barrow.compress.export.hf import export_hf
from barrow.compress.export.onnx import export_onnx, onnx_bytes
from barrow.compress.quantize import quantized
from barrow.compress.scheme import Scheme
from barrow.errors import WeightsError
from barrow.models import Decoder, DecoderConfig
from barrow.models.clip.config import ClipConfig, ResNetConfig, TextConfig, VisionConfig
from barrow.models.clip.model import CLIP
from barrow.models.keys_report import KeysReport
from barrow.models.load import Loaded, load
from barrow.models.onnx.model import OnnxModel, open_onnx
from barrow.models.quantized import is_quantized_tree, save_quantized
from barrow.nn import Routing, take_apart
from barrow.nn.attention.visible import Sparse

RNG = np.random.default_rng(0)
IDS = RNG.integers(3, 97, (3, 20)).astype(np.int32)
EXPERTS = [name for name in CONFIGS if "experts" in str(CONFIGS[name])]


def opened(loaded: Loaded, path: Path, **how: Any) -> OnnxModel:
    path.write_bytes(onnx_bytes(loaded, **how))
    model: Any = open_onnx(path).model
    return model


@pytest.mark.parametrize("name", sorted(CONFIGS.keys() - set(EXPERTS)))
def test_decoders_compute_what_transformers_does(name: str, tmp_path: Path) -> None:
    kind, settings = CONFIGS[name]
    torch.manual_seed(0)
    config = getattr(transformers, kind)(**settings, initializer_range=0.3)
    theirs = transformers.AutoModelForCausalLM.from_config(config).eval()
    theirs.save_pretrained(tmp_path / "model")
    export_onnx(tmp_path / "model", tmp_path / "model.onnx")
    found: Any = open_onnx(tmp_path / "model.onnx").model
    with torch.inference_mode():
        expected = theirs(torch.from_numpy(IDS.astype(np.int64))).logits
    np.testing.assert_allclose(found.logits(IDS), expected.numpy(), atol=1e-4)
    logs = torch.log_softmax(expected.double(), -1).numpy()[:, :-1]
    wanted = np.take_along_axis(logs, IDS[:, 1:, None].astype(np.int64), -1)[..., 0]
    np.testing.assert_allclose(found.log_probs(IDS[:, :-1], IDS[:, 1:]), wanted, atol=1e-4)


@pytest.mark.parametrize("kind", ["mlm", "untied", "classify", "tag", "regress"])
def test_encoders_compute_what_transformers_does(kind: str, tmp_path: Path) -> None:
    """With padding, which is masked."""
    save_roberta(tmp_path / "model", kind)
    export_onnx(tmp_path / "model", tmp_path / "model.onnx")
    loaded = open_onnx(tmp_path / "model.onnx")
    found: Any = loaded.model
    theirs = transformers.AutoModel.from_pretrained(tmp_path / "model")
    lengths = np.array([20, 7, 1])
    seen = np.arange(20) < lengths[:, None]
    ids = np.where(seen, IDS, 1)
    given = {
        "input_ids": torch.from_numpy(ids.astype(np.int64)),
        "attention_mask": torch.from_numpy(seen).long(),
    }
    with torch.inference_mode():
        hidden = theirs(**given).last_hidden_state.numpy()
    np.testing.assert_allclose(found.hidden(ids, lengths)[seen], hidden[seen], atol=1e-4)
    architecture = theirs.config.architectures[0]
    whole = getattr(transformers, architecture).from_pretrained(tmp_path / "model")
    with torch.inference_mode():
        logits = whole(**given).logits.numpy()
    if kind in ("mlm", "untied"):
        at = np.array([[3, 1], [6, 0], [0, 0]])
        expected = np.take_along_axis(logits, at[..., None], axis=1)
        np.testing.assert_allclose(found.masked_logits(ids, lengths, at), expected, atol=2e-4)
    elif kind == "tag":
        np.testing.assert_allclose(found.outputs(ids, lengths)[seen], logits[seen], atol=2e-4)
    else:
        outputs = found.outputs(ids, lengths)
        np.testing.assert_allclose(outputs.reshape(3, -1), logits, atol=2e-4)
    assert loaded.labels == load(tmp_path / "model").labels


CLIP_CONFIG = ClipConfig(8, VisionConfig(16, 8, 16, 2, 2), TextConfig(530, 12, 16, 2, 2))


def test_clip_is_that_of_jax(tmp_path: Path) -> None:
    model = CLIP(CLIP_CONFIG)
    params = random_params(model, *CLIP_CONFIG.example)
    found = opened(Loaded(model, params, KeysReport()), tmp_path / "clip.onnx")
    images = RNG.normal(size=(3, 16, 16, 3)).astype(np.float32)
    texts = RNG.integers(1, 500, (2, 9)).astype(np.int32)
    texts[0, 5:], texts[1, 8] = 529, 529
    image, text, _ = jax.jit(model.apply)(params, images, texts)
    np.testing.assert_allclose(found.run("image", images=images), image, atol=1e-4)
    np.testing.assert_allclose(found.run("text", texts=texts), text, atol=1e-4)
    assert found.config == CLIP_CONFIG


def quantized_decoder(scheme: Scheme) -> tuple[Decoder, Any]:
    config = DecoderConfig(vocab_size=97, width=32, layers=2, heads=4, hidden=48, context=32)
    model = Decoder(config, unroll=True)
    params = jax.tree.map(jnp.asarray, take_apart(random_params(model, *config.example), "layers"))
    rows = RNG.integers(0, 97, (4, 16)).astype(np.int32)
    return model, quantized(model, params, scheme, rows)


@pytest.mark.parametrize(
    ("scheme", "op", "near"),
    [
        (Scheme("int8", dynamic=True), "DynamicQuantizeMatMul", 0.05),
        (Scheme("int8", dynamic=True, smooth=0.5), "DynamicQuantizeMatMul", 0.05),
        (Scheme("int4", group=16), "MatMulNBits", 0.05),
    ],
)
def test_quantized_weights_stay_quantized(
    scheme: Scheme, op: str, near: float, tmp_path: Path
) -> None:
    """Products are of integers; what they differ by from ours is how activations are rounded."""
    model, params = quantized_decoder(scheme)
    found = opened(Loaded(model, params, KeysReport()), tmp_path / "small.onnx")
    ops = [node.op_type for node in onnx.load(tmp_path / "small.onnx").graph.node]
    assert ops.count(op) >= 2 * 6
    assert "MatMul" not in ops
    ours = np.asarray(jax.jit(lambda p: model.apply(p, jnp.asarray(IDS))[0])(params))
    assert np.abs(found.logits(IDS) - ours).max() < near * np.abs(ours).max()


def test_seven_bits_keep_sums_within_sixteen(tmp_path: Path) -> None:
    model, params = quantized_decoder(Scheme("int8", dynamic=True))
    short = opened(Loaded(model, params, KeysReport()), tmp_path / "7.onnx", seven_bits=True)
    held = {
        t.name: onnx.numpy_helper.to_array(t)
        for t in onnx.load(tmp_path / "7.onnx").graph.initializer
    }
    values = [array for name, array in held.items() if name.endswith(".values")]
    assert len(values) == 2 * 6 + 1
    # Two products of 8 and 7 bits: 2 · 255 · 63 < 2^15.
    assert max(np.abs(array).max() for array in values) <= 63
    ours = np.asarray(jax.jit(lambda p: model.apply(p, jnp.asarray(IDS))[0])(params))
    assert np.abs(short.logits(IDS) - ours).max() < 0.1 * np.abs(ours).max()


def test_what_export_lacks_is_named(tmp_path: Path, folder: Path) -> None:
    config = DecoderConfig(vocab_size=97, width=32, layers=1, heads=4, hidden=48, context=32)
    model = Decoder(config, unroll=True)

    def refused(what: str, **changes: Any) -> None:
        other = replace(model, config=replace(config, **changes))
        drawn = random_params(other, *config.example)
        with pytest.raises(ValueError, match=what):
            onnx_bytes(Loaded(other, drawn, KeysReport()))

    refused("lacks experts", experts=Routing(4, 2), mlp_bias=False)
    refused("lacks sparse attention", sparse=Sparse())
    small = ResNetConfig(32, 8, (1, 1, 1, 1), 8)
    resnet = CLIP(replace(CLIP_CONFIG, image=small))
    with pytest.raises(ValueError, match="lacks CLIP's ResNet"):
        onnx_bytes(Loaded(resnet, random_params(resnet, *resnet.config.example), KeysReport()))
    with pytest.raises(ValueError, match="lacks groups of 8"):
        bad = quantized_decoder(Scheme("int4", "nearest", 8))
        onnx_bytes(Loaded(*bad, KeysReport()))
    with pytest.raises(ValueError, match="lacks weights of float8"):
        onnx_bytes(Loaded(*quantized_decoder(Scheme("fp8")), KeysReport()))
    with pytest.raises(ValueError, match=r"must end in \.onnx"):
        export_onnx(folder, tmp_path / "model")
    (tmp_path / "there.onnx").write_bytes(b"x")
    with pytest.raises(ValueError, match="already exists"):
        export_onnx(folder, tmp_path / "there.onnx")
    with pytest.raises(WeightsError, match="cannot open it"):
        open_onnx(tmp_path / "there.onnx")


def test_a_graph_of_others_is_refused(tmp_path: Path) -> None:
    helper = onnx.helper
    x = helper.make_tensor_value_info("x", 1, [1])
    y = helper.make_tensor_value_info("y", 1, [1])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    made = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)])
    onnx.save(made, tmp_path / "other.onnx")
    with pytest.raises(WeightsError, match="was not written by `barrow export"):
        open_onnx(tmp_path / "other.onnx")


@pytest.mark.parametrize("bits", ["int4", "int8"])
def test_hf_expands_quantized_weights(bits: Any, decoder: Any, tmp_path: Path) -> None:
    whole, params = decoder
    integers = quantized(whole, params, Scheme(bits, "nearest", 8))
    save_quantized(tmp_path / "small", whole, integers, scheme=bits)
    export_hf(tmp_path / "small", tmp_path / "hf")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf").eval()
    small = load(tmp_path / "small", unstack=True)
    assert is_quantized_tree(small.params)
    ids = np.arange(12)[None]
    with torch.inference_mode():
        expected = theirs(torch.from_numpy(ids)).logits.numpy()
    model: Any = small.model
    ours = jax.jit(lambda params: model.apply(params, jnp.asarray(ids))[0])(small.params)
    np.testing.assert_allclose(ours, expected, atol=1e-3)
    with pytest.raises(ValueError, match="already exists"):
        export_hf(tmp_path / "small", tmp_path / "hf")
