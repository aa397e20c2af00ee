from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from barrow.checkpoint import save_params
from barrow.checkpoint.snapshot import snapshot
from barrow.checkpoint.write import write_checkpoint
from barrow.models import DecoderConfig, clip, family_table
from barrow.models import open as open_model
from barrow.models.clip.config import ClipConfig, ResNetConfig, TextConfig, VisionConfig
from barrow.models.clip.model import CLIP
from barrow.models.convert import convert
from barrow.nn.module import init_collections
from barrow.parallel.processes import Peers

TEXT = TextConfig(514, 12, 32, 2, 2)
VIT = ClipConfig(32, VisionConfig(32, 8, 64, 2, 2), TEXT)
RESNET = ClipConfig(32, ResNetConfig(32, 8, (1, 1, 1, 1), 4), TEXT)
IMAGES = np.random.default_rng(0).normal(size=(2, 32, 32, 3)).astype(np.float32)
TEXTS = ["a barrow", "a mound"]


def drawn(shapes: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda s: (0.2 * rng.random(s.shape) + 0.01).astype(s.dtype), shapes)


def about(config: Any) -> dict[str, Any]:
    return {"model": family_table(config), "tokenizer": "bytes"}


def test_a_checkpoint_encodes_as_the_folder_it_is_converted_to(tmp_path: Path) -> None:
    model = CLIP(VIT)
    params = drawn(
        jax.eval_shape(lambda key: model.init(key, *model.config.example), jax.random.key(0))
    )
    save_params(tmp_path / "run" / "checkpoints" / "step-000000002", params, about(VIT))
    convert(tmp_path / "run", tmp_path / "hf", to="hf")
    ours, preprocess = clip.load(weights=tmp_path / "run")
    theirs, _ = clip.load(weights=tmp_path / "hf")
    assert preprocess.resolution == 32
    assert ours.report is not None
    assert ours.report.is_exact
    with pytest.raises(ValueError, match="leave out the name"):
        clip.load("RN50", weights=tmp_path / "run")
    for path in (tmp_path / "run", tmp_path / "hf"):
        opened = open_model(path)
        assert (type(opened.model), opened.family) == (CLIP, VIT)
    small = open_model(tmp_path / "run", dtype="bfloat16").params
    assert (small["logit_scale"].dtype, small["image"]["norm"]["scale"].dtype) == (
        "float32",
        "bfloat16",
    )
    np.testing.assert_allclose(
        ours.encode_image(IMAGES), theirs.encode_image(IMAGES), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(
        ours.encode_text(TEXTS), theirs.encode_text(TEXTS), rtol=1e-5, atol=1e-5
    )


def test_running_statistics_come_along(tmp_path: Path) -> None:
    model = CLIP(RESNET)
    example = model.config.example
    params = drawn(jax.eval_shape(lambda key: model.init(key, *example), jax.random.key(0)))
    collections = drawn(init_collections(model, *example), seed=1)
    write_checkpoint(
        tmp_path / "run",
        snapshot({"params": params, "collections": collections}),
        step=1,
        about=about(RESNET),
        peers=Peers(),
    )
    ours, _ = clip.load(weights=tmp_path / "run")
    texts = np.zeros((2, 12), np.int32)
    apply = jax.jit(model.apply)
    images, _, _ = apply(params, IMAGES, texts, collections=collections)
    np.testing.assert_allclose(ours.encode_image(IMAGES), images, rtol=1e-4, atol=1e-4)
    first = init_collections(model, *example)
    others, _, _ = apply(params, IMAGES, texts, collections=first)
    assert float(np.abs(np.asarray(images) - np.asarray(others)).max()) > 1e-2


def test_a_checkpoint_of_another_model(tmp_path: Path) -> None:
    config = DecoderConfig(layers=2)
    save_params(tmp_path / "run", {"x": np.zeros(2)}, {"model": family_table(config)})
    with pytest.raises(ValueError, match="is a Decoder, expected a CLIP; .*generate"):
        clip.load(weights=tmp_path / "run")
