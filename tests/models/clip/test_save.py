from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import transformers
from tests.models.clip_peers import arrays, random_params, reference
from tests.models.clip_reference import inputs

from barrow import nn
from barrow.models.clip.config import ClipConfig, ResNetConfig, TextConfig, VisionConfig
from barrow.models.clip.load import load
from barrow.models.clip.model import CLIP
from barrow.models.clip.save import save_huggingface, save_open_clip
from barrow.tokens.clip.tokenizer import ClipTokenizer

TEXT = TextConfig(60, 10, 16, 2, 2)
TINY = ClipConfig(8, VisionConfig(16, 8, 16, 3, 2), TEXT)
RESNET = ClipConfig(8, ResNetConfig(64, 8, (1, 1, 2, 1), 8), TEXT, "gelu")


def whole(config: ClipConfig) -> Any:
    """Parameters and statistics, none of them as a model begins."""
    model = CLIP(config)
    rng = np.random.default_rng(1)
    stats = jax.tree.map(
        lambda x: np.asarray(x) + rng.uniform(0.1, 0.5, x.shape).astype(np.float32),
        nn.init_collections(model, *model.config.example),
    )
    return random_params(model, *model.config.example), stats


def test_transformers_opens_what_is_saved(tmp_path: Path) -> None:
    params, _ = whole(TINY)
    tokenizer = ClipTokenizer([("a", "b</w>")])
    assert save_huggingface(tmp_path / "x", TINY, params, tokenizer=tokenizer).is_exact
    model, info = transformers.CLIPModel.from_pretrained(tmp_path / "x", output_loading_info=True)
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    images, ids = inputs(16, 10, 60)
    ours, _ = load(weights=tmp_path / "x")
    with torch.no_grad():
        pixels = torch.tensor(images.transpose(0, 3, 1, 2))
        image = model.get_image_features(pixel_values=pixels)
        text = model.get_text_features(input_ids=torch.tensor(ids))
    for found, theirs in ((ours.encode_image(images), image), (ours.encode_text(ids), text)):
        theirs = getattr(theirs, "pooler_output", theirs).numpy()
        np.testing.assert_allclose(found, theirs, atol=1e-4)
    for path, leaf in nn.paths(ours.params).items():
        np.testing.assert_array_equal(leaf, nn.paths(params)[path])
    theirs = transformers.CLIPTokenizer.from_pretrained(tmp_path / "x")
    assert theirs("ab").input_ids == [513, *tokenizer.encode("ab"), 514]
    assert ours.tokenizer().hash == tokenizer.hash  # type: ignore[operator, union-attr, misc]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[ClipConfig, Path]:
    """Models for open_clip, with what it makes of them: it takes seconds to import."""
    folders = {config: tmp_path_factory.mktemp("saved") for config in (RESNET, TINY)}
    for config, folder in folders.items():
        params, stats = whole(config)
        assert save_open_clip(folder, config, params, collections=stats).is_exact
    reference("features", *folders.values())
    return folders


@pytest.mark.parametrize("config", [RESNET, TINY], ids=["resnet", "vision transformer"])
def test_open_clip_opens_what_is_saved(config: ClipConfig, saved: dict[ClipConfig, Path]) -> None:
    expected = arrays(saved[config] / "features.npz")
    ours, _ = load(weights=saved[config])
    assert ours.module.config == config
    for found, theirs in (
        (ours.encode_image(expected["images"]), expected["image"]),
        (ours.encode_text(expected["ids"]), expected["text"]),
    ):
        np.testing.assert_allclose(found, theirs, atol=1e-4 * max(1, np.abs(theirs).max()))


def test_types_and_refusals(tmp_path: Path) -> None:
    params, stats = whole(RESNET)
    save_open_clip(tmp_path / "a", RESNET, params, collections=stats, dtype="float16")
    back, _ = load(weights=tmp_path / "a")
    np.testing.assert_array_equal(
        nn.paths(back.collections["batch_stats"])["image/stem/norm1/var"],
        nn.paths(stats["batch_stats"])["image/stem/norm1/var"],
    )
    with pytest.raises(ValueError, match="already contains a model"):
        save_open_clip(tmp_path / "a", RESNET, params, collections=stats)
    with pytest.raises(ValueError, match="do not match the model: .* missing: batch_stats/image"):
        save_open_clip(tmp_path / "b", RESNET, params)
    with pytest.raises(ValueError, match="save it in open_clip's layout"):
        save_huggingface(tmp_path / "b", RESNET, params)
    wider = params | {"logit_scale": jnp.zeros((2,))}
    with pytest.raises(ValueError, match=r"1 mismatched: logit_scale: expected \[\], found \[2\]"):
        save_open_clip(tmp_path / "b", RESNET, wider, collections=stats)
    assert not (tmp_path / "b").exists()
