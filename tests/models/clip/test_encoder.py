from __future__ import annotations

import warnings
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from barrow.models.clip.config import ClipConfig, TextConfig, VisionConfig
from barrow.models.clip.encoder import Clip, _image, _text
from barrow.models.clip.load import load
from barrow.tokens.clip.tokenizer import ClipTokenizer

CONFIG = ClipConfig(8, VisionConfig(16, 8, 16, 1, 2), TextConfig(520, 10, 16, 1, 2))
RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(11, 16, 16, 3)).astype(np.float32)
TEXTS = ["a cat", "the dog!", "A  CAT", "one two"]


@pytest.fixture(scope="module")
def clip() -> Clip:
    return replace(load(CONFIG, batch=4)[0], tokenizer=ClipTokenizer([("c", "a"), ("ca", "t</w>")]))


def test_rows_do_not_depend_on_their_batch(clip: Clip) -> None:
    """CLIP-7: eleven in batches of four, the last of them filled up, as one by one."""
    found = clip.encode_image(IMAGES)
    assert found.shape == (11, 8)
    for number in (0, 5, 10):
        alone = clip.encode_image(IMAGES[number : number + 1])
        np.testing.assert_allclose(found[number : number + 1], alone, atol=1e-5)
    assert clip.encode_image(IMAGES[:0]).shape == (0, 8)


def test_the_second_call_compiles_nothing(clip: Clip) -> None:
    """CLIP-7: nor do other sizes of the same bucket."""
    clip.encode_image(IMAGES[:4])
    clip.encode_text(TEXTS)
    programs = [each.made("cpu") for each in (_image, _text)]  # type: ignore[attr-defined]
    before = [each._cache_size() for each in programs]
    for num in (3, 4, 8):
        clip.encode_image(IMAGES[:num])
    clip.encode_text(TEXTS[:3])
    assert [each._cache_size() for each in programs] == before
    assert min(before) > 0


def test_similarity_is_the_scale_times_the_cosine(clip: Clip) -> None:
    """CLIP-2: against float64."""
    a = clip.encode_image(IMAGES[:3]).astype(np.float64)
    b = clip.encode_text(TEXTS).astype(np.float64)
    cosine = (a @ b.T) / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)
    found = clip.similarity(IMAGES[:3], TEXTS)
    np.testing.assert_allclose(found, cosine / 0.07, atol=1e-4)
    hot = replace(clip, params=clip.params | {"logit_scale": jnp.float32(9.0)})
    assert hot.scale == 100
    np.testing.assert_allclose(hot.similarity(IMAGES[:3], TEXTS), cosine * 100, atol=1e-3)


def test_embeddings_stand_for_images(clip: Clip) -> None:
    """CLIP-1: images are encoded once, and asked about often."""
    embedded = clip.encode_image(IMAGES[:3])
    np.testing.assert_array_equal(
        clip.similarity(embedded, TEXTS), clip.similarity(IMAGES[:3], TEXTS)
    )
    asked = [clip.zero_shot(given, ["cat", "dog"], ["a {}"]) for given in (embedded, IMAGES[:3])]
    np.testing.assert_array_equal(asked[0].probabilities, asked[1].probabilities)
    with pytest.raises(ValueError, match=r"as preprocess returns, got \(3, 7\)"):
        clip.similarity(embedded[:, :7], TEXTS)


def test_no_texts(clip: Clip) -> None:
    assert clip.encode_text([]).shape == (0, 8)
    assert clip.similarity(IMAGES[:2], []).shape == (2, 0)


def test_a_vocabulary_of_another_model_is_doubted(clip: Clip) -> None:
    """CLIP-5: fewer ids than the table has, but for what tables are filled up with."""
    wide = replace(CONFIG, text=replace(CONFIG.text, vocab_size=49_408))
    other = replace(clip, module=replace(clip.module, config=wide))
    with pytest.warns(UserWarning, match="the tokenizer has 516 ids, the model 49,408: is it"):
        other.tokens(["a cat"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clip.tokens(["a cat"])


def test_zero_shot(clip: Clip) -> None:
    """CLIP-1, CLIP-10: with one template, the softmax of the similarities."""
    found = clip.zero_shot(IMAGES[:2], ["cat", "dog"], ["a {}"])
    scores = clip.similarity(IMAGES[:2], ["a cat", "a dog"])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-5)


def test_texts_and_ids_are_the_same(clip: Clip) -> None:
    ids = clip.tokens(TEXTS)
    np.testing.assert_array_equal(clip.encode_text(ids), clip.encode_text(TEXTS))
    assert ids.shape == (4, 10)
    np.testing.assert_array_equal(ids[0], ids[2])


def test_an_embedding_that_is_not_finite_names_its_image(clip: Clip) -> None:
    bad = IMAGES[:3].copy()
    bad[1, 0, 0, 0] = np.nan
    with pytest.raises(
        ValueError, match=r"embedding of b\.png is not finite \(1 of 3 are not\): the input"
    ):
        clip.encode_image(bad, names=["a.png", "b.png", "c.png"])
    token = clip.params["image"]["token"].at[0].set(jnp.inf)
    broken = replace(clip, params=clip.params | {"image": clip.params["image"] | {"token": token}})
    with pytest.raises(ValueError, match="embedding of image 0 .* the weights are damaged"):
        broken.encode_image(IMAGES[:3])


def test_bad_arguments(clip: Clip) -> None:
    with pytest.raises(ValueError, match="put it in a list"):
        clip.encode_text("a cat")
    with pytest.raises(ValueError, match="ids must be from 0 to 519, got 0 … 520"):
        clip.encode_text(np.array([[0, 520]]))
    with pytest.raises(ValueError, match=r"\[n, side, side, 3\], as preprocess returns, got \(16"):
        clip.encode_image(IMAGES[0])
    with pytest.raises(ValueError, match="2 names for 3 rows"):
        clip.encode_image(IMAGES[:3], names=["a", "b"])
    with pytest.raises(ValueError, match=r"load\(bpe=…\)"):
        replace(clip, tokenizer=None).encode_text(["a"])
    with pytest.raises(ValueError, match="at most 10 tokens"):
        clip.encode_text(["long " * 20])
    with pytest.warns(UserWarning, match="1 of 1 texts were cut to 10 tokens"):
        clip.encode_text(["long " * 20], truncate=True)
