from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from tests.models.clip_peers import arrays

from barrow import nn
from barrow.errors import NotFound, WeightsError
from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig
from barrow.models.clip.load import Preprocess, bpe_folders, load, named_tokenizer
from barrow.models.clip.save import save_huggingface, save_open_clip
from barrow.stream.pairs import ClipTexts
from barrow.tokens.clip.tokenizer import ClipTokenizer

# What the small Vision Transformer of the fixture is; its file does not tell heads nor activation.
VIT = ClipConfig(24, VisionConfig(32, 8, 64, 2, 2), TextConfig(60, 12, 32, 3, 4))
TINY = ClipConfig(8, VisionConfig(16, 8, 16, 2, 2), TextConfig(40, 10, 16, 2, 2))


@pytest.fixture(scope="module")
def tiny() -> Any:
    """Random weights of seed 0."""
    return load(TINY)[0]


@pytest.mark.parametrize("suffix", ["_script.pt", "_half.pt"])
def test_archives_compute_what_open_clip_does(open_clip_files: Path, suffix: str) -> None:
    """CLIP-4, CLIP-5; half precision is read to float32, and is as near as it can be."""
    expected = arrays(open_clip_files / "vit.npz")
    model, preprocess = load(VIT, weights=open_clip_files / f"vit{suffix}", activation="gelu")
    assert preprocess == Preprocess(32)
    assert all(leaf.dtype == jnp.float32 for leaf in nn.paths(model.params).values())
    near = 1e-4 if suffix == "_script.pt" else 1e-2
    np.testing.assert_allclose(model.encode_image(expected["images"]), expected["image"], atol=near)
    np.testing.assert_allclose(model.encode_text(expected["ids"]), expected["text"], atol=near)


def test_every_key_is_accounted_for(open_clip_files: Path) -> None:
    model, _ = load(weights=open_clip_files / "rn.pt")
    assert model.report is not None
    assert model.report.is_exact
    assert "22 ignored: visual.bn1.num_batches_tracked" in str(model.report)
    assert model.origin.endswith("rn.pt")


def test_keys_that_do_not_match(open_clip_files: Path, tmp_path: Path) -> None:
    state = torch.load(open_clip_files / "vit.pt")
    state["visual.extra"] = torch.zeros(3)
    del state["ln_final.bias"]
    torch.save(state, tmp_path / "odd.pt")
    with pytest.raises(WeightsError, match="1 missing: ln_final.bias; 1 unexpected: visual.extra"):
        load(VIT, weights=tmp_path / "odd.pt")
    model, _ = load(VIT, weights=tmp_path / "odd.pt", strict=False)
    assert model.report is not None
    assert model.report.missing == ("ln_final.bias",)
    assert not np.any(model.params["text"]["norm"]["bias"])


def test_another_model_than_the_name_says(open_clip_files: Path, hf_clip: tuple[Path, Any]) -> None:
    for path in (open_clip_files / "vit.pt", hf_clip[0]):
        with pytest.raises(WeightsError, match="not ViT-B/32; leave out the name"):
            load("ViT-B/32", weights=path)


def test_random_weights_say_so_and_depend_on_the_seed(tiny: Any) -> None:
    first, again, other = tiny, *(load(TINY, seed=seed)[0] for seed in (0, 1))
    assert first.origin == "random weights of seed 0"
    assert first.report is None
    np.testing.assert_array_equal(first.params["image"]["token"], again.params["image"]["token"])
    assert np.any(first.params["image"]["token"] != other.params["image"]["token"])


def test_types() -> None:
    model, _ = load(TINY, dtype="bfloat16")
    assert model.params["text"]["embed"]["table"].dtype == jnp.bfloat16
    assert model.params["logit_scale"].dtype == jnp.float32
    with pytest.raises(
        ValueError, match="dtype must be one of float32, bfloat16, float16, got 'int8'"
    ):
        load(TINY, dtype="int8")


def test_layers_apart_as_on_accelerators(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    together = tiny
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    apart, _ = load(TINY)
    assert all(isinstance(apart.params[s]["tower"]["layers"], tuple) for s in ("image", "text"))
    images = np.random.default_rng(0).standard_normal((3, 16, 16, 3), np.float32)
    ids = np.asarray([[1, 2, 39]])
    for encode, given in (("encode_image", images), ("encode_text", ids)):
        found = getattr(apart, encode)(given)
        np.testing.assert_allclose(found, getattr(together, encode)(given), atol=1e-6)
    for name, model in (("apart", apart), ("together", together)):
        save_huggingface(tmp_path / name, TINY, model.params)
    first, second = (tmp_path / n / "model.safetensors" for n in ("apart", "together"))
    assert first.read_bytes() == second.read_bytes()


def test_no_name_and_no_weights() -> None:
    with pytest.raises(ValueError, match="pass weights"):
        load()


def test_other_normalisation_is_refused(hf_clip: tuple[Path, Any], tmp_path: Path) -> None:
    shutil.copytree(hf_clip[0], tmp_path / "x")
    said = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}
    (tmp_path / "x" / "preprocessor_config.json").write_text(json.dumps(said))
    with pytest.raises(WeightsError, match=r"normalised with mean \[0.5, 0.5, 0.5\]"):
        load(weights=tmp_path / "x")


def test_the_vocabulary_beside_the_weights(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """CLIP-5: as people have it, with no word about it."""
    monkeypatch.setenv("BARROW_CACHE", str(tmp_path / "none"))
    monkeypatch.setattr("barrow.tokens.clip.merges._PACKAGES", ())
    save_open_clip(tmp_path / "x", TINY, tiny.params)
    (tmp_path / "x" / "bpe_simple_vocab_16e6.txt.gz").write_text("#version: 0.2\na b</w>\n")
    bare = tmp_path / "x" / "bare.safetensors"
    shutil.copy(tmp_path / "x" / "open_clip_model.safetensors", bare)
    for weights in (bare, tmp_path / "x"):
        found, _ = load(TINY, weights=weights)
        assert callable(found.tokenizer)
        assert found.tokenizer().vocab_size == 515


def test_the_vocabulary_is_looked_for_when_a_text_comes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BARROW_CACHE", str(tmp_path))
    monkeypatch.setattr("barrow.tokens.clip.merges._PACKAGES", ())
    monkeypatch.setenv("HOME", str(tmp_path))
    model, _ = load(TINY)
    with pytest.raises(NotFound, match=r"no bpe_simple_vocab_16e6.txt.gz: not in .*/clip"):
        model.tokens(["a"])
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b</w>\n")
    with pytest.raises(NotFound, match="does not exist"):
        load(TINY, bpe=tmp_path / "nosuch.gz")
    model, _ = load(TINY, bpe=tmp_path / "merges.txt")
    with pytest.raises(ValueError, match="the tokenizer has 515 ids, the model 40"):
        model.tokens(["a"])
    assert callable(model.tokenizer)
    assert model.tokenizer().vocab_size == 515
    assert bpe_folders({"HOME": "/h"})[-1] == Path("/h/.cache/clip")


def test_bytes_need_no_file() -> None:
    """The end is the highest id, where the text tower reads, and stands once in each row."""
    tokenizer = named_tokenizer("bytes")
    assert (tokenizer.vocab_size, tokenizer.start, tokenizer.end) == (514, 512, 513)
    rows = ClipTexts(tokenizer, 8)(["ab", "a much longer text", ""])
    assert rows.shape == (3, 8)
    assert rows.dtype == np.int32
    assert rows[0].tolist()[:1] + rows[0].tolist()[3:] == [512, 513, 0, 0, 0, 0]
    assert rows.argmax(axis=1).tolist() == [3, 7, 1]
    assert ((rows == 513).sum(axis=1) == 1).all()


def test_rows_are_the_tokenizers_own(tmp_path: Path) -> None:
    made = ClipTokenizer([("a", "b"), ("ab", "c</w>")])
    made.save(tmp_path)
    opened = named_tokenizer(str(tmp_path))
    texts = ["abc ab", "c"]
    np.testing.assert_array_equal(ClipTexts(opened, 9)(texts), made.rows(texts, context=9))


def test_the_hash_tells_encoders_apart() -> None:
    merged = ClipTokenizer([("a", "b")])
    hashes = {ClipTexts(t, c).hash for t in (merged, ClipTokenizer(())) for c in (8, 9)}
    assert len(hashes) == 4


def test_bytes_saved_are_opened_again(tmp_path: Path) -> None:
    named_tokenizer("bytes").save(tmp_path)
    assert named_tokenizer(str(tmp_path)).hash == named_tokenizer("bytes").hash
