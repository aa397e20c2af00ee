"""CLIP-9: at most 1/255 from Pillow's bicubic resize and centre crop, in any size and mode."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.images.slow_bicubic import levels_apart

from barrow.errors import BadImage
from barrow.images import Box, centre_box, centre_square, random_box, square


def noise(height: int, width: int, channels: int, seed: int = 0) -> np.ndarray:
    """Noise is the hardest case: every weight shows. Half of it is saturated, so clipping too."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(-128, 384, (height, width, channels))
    return np.clip(pixels, 0, 255).astype(np.uint8)


def recipe(image: Image.Image, size: int) -> np.ndarray:
    """OpenAI's: resize the short side, centre crop, RGB."""
    width, height = image.size
    short = min(width, height)
    new = int(size * width / short), int(size * height / short)
    image = image.resize(new, Image.Resampling.BICUBIC)
    left, top = round((new[0] - size) / 2.0), round((new[1] - size) / 2.0)
    return np.asarray(image.crop((left, top, left + size, top + size)).convert("RGB"))


def middle(image: Image.Image, size: int, **options: object) -> np.ndarray:
    return centre_square(image, resolution=size, **options)  # type: ignore[arg-type]


def most(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one.astype(np.float64) - other.astype(np.float64)).max())


SIDES = st.integers(1, 90)


@settings(max_examples=40)
@given(SIDES, SIDES, st.integers(1, 64), st.sampled_from(["RGB", "L", "RGBA", "LA", "CMYK"]))
def test_any_size_is_as_the_recipe_has_it(width: int, height: int, size: int, mode: str) -> None:
    channels = len(Image.new(mode, (1, 1)).getbands())
    pixels = noise(height, width, channels, seed=width * 100 + height)
    image = Image.fromarray(pixels[..., 0] if channels == 1 else pixels, mode)
    if max(width, height) <= 16 * min(width, height):
        assert most(middle(image, size), recipe(image, size)) <= 1
    elif mode == "RGB":
        assert levels_apart(middle(image, size), pixels, centre_box(width, height, size)) <= 1.5


@settings(max_examples=30)
@given(SIDES, SIDES, st.integers(1, 48))
def test_a_float64_bicubic_agrees(width: int, height: int, size: int) -> None:
    pixels = noise(height, width, 3, seed=width + 100 * height)
    box = centre_box(width, height, size)
    ours = square(Image.fromarray(pixels), box, resolution=size)
    # One level for rounding between the passes, half a level for rounding after them.
    assert levels_apart(ours, pixels, box) <= 1.5


def test_boxes_between_pixels_agree_with_float64() -> None:
    pixels = noise(40, 61, 3)
    for number in range(8):
        draws = tuple(np.random.default_rng(number).random(3).tolist())
        box = random_box(61, 40, draws=draws, min_area=0.2)
        ours = square(Image.fromarray(pixels), box, resolution=24)
        assert levels_apart(ours, pixels, box) <= 1.5


def test_a_long_thin_image_costs_no_more_than_its_middle() -> None:
    """Resized whole it would have 64 × 64 × 3 × 60,000 numbers."""
    pixels = noise(1, 60_000, 3)
    ours = middle(Image.fromarray(pixels), 64)
    whole = centre_box(60_000, 1, 64)
    near = Box(whole.left - 29_990, 0, whole.right - 29_990, 1)
    assert levels_apart(ours, pixels[:, 29_990:30_010], near) <= 1.5


def test_palettes_are_smooth_and_not_the_nearest_colour() -> None:
    rgb = Image.fromarray(noise(50, 70, 3)).quantize(16)
    assert rgb.mode == "P"
    assert most(middle(rgb, 20), recipe(rgb.convert("RGB"), 20)) <= 1
    assert most(middle(rgb, 20), recipe(rgb, 20)) > 50  # what Pillow makes of a palette


def test_bits_are_smooth() -> None:
    bits = Image.fromarray(noise(50, 70, 1)[..., 0]).convert("1")
    assert most(middle(bits, 20), recipe(bits.convert("L"), 20)) <= 1
    assert len(np.unique(middle(bits, 20))) > 2


@pytest.mark.parametrize("mode", ["I;16", "I;16B", "I"])
def test_16_bit_grey_keeps_its_range(mode: str) -> None:
    """Pillow's own conversion clips at 255 and makes such pictures white."""
    deep = np.arange(60 * 40, dtype=np.uint16).reshape(40, 60) * 27
    kind = {"I;16": "<u2", "I;16B": ">u2", "I": np.int32}[mode]
    image = Image.frombytes(mode, (60, 40), deep.astype(kind).tobytes())
    grey = Image.fromarray(np.round(deep / 257).astype(np.uint8))
    ours = middle(image, 30)
    assert most(ours, recipe(grey, 30)) <= 1
    assert ours.max() > 200 > 50 > ours.min()


def test_values_of_unknown_range_are_refused_by_name() -> None:
    floats = Image.fromarray(np.ones((4, 4), np.float32))
    with pytest.raises(
        BadImage, match="scan.tif: pixels of mode 'F' have no known range"
    ) as caught:
        middle(floats, 4, name="scan.tif")
    assert caught.value.reason == "unsupported"
    wide = Image.fromarray(np.full((4, 4), 70_000, np.int32))
    with pytest.raises(BadImage, match="mode 'I'"):
        middle(wide, 4)


def transparent(mode: str) -> Image.Image:
    """Red on the left, transparent (hiding green) on the right."""
    pixels = np.zeros((8, 8, 4), np.uint8)
    pixels[:, :4] = (255, 0, 0, 255)
    pixels[:, 4:] = (0, 255, 0, 0)
    image = Image.fromarray(pixels)
    if mode == "P":
        image = Image.new("P", (8, 8))
        image.putpalette([255, 0, 0, 0, 255, 0])
        image.putdata([0, 0, 0, 0, 1, 1, 1, 1] * 8)
        image.info["transparency"] = 1
    return image


@pytest.mark.parametrize("mode", ["RGBA", "P"])
def test_a_background_shows_behind_what_is_transparent(mode: str) -> None:
    ours = middle(transparent(mode), 8, background=(10, 20, 30))
    assert (ours[:, :4] == (255, 0, 0)).all()
    assert (ours[:, 4:] == (10, 20, 30)).all()


def test_without_a_background_alpha_is_dropped_as_the_recipe_does() -> None:
    image = transparent("RGBA").resize((16, 16), Image.Resampling.NEAREST)
    assert (middle(image, 8) == recipe(image, 8)).all()


def test_a_palette_s_transparent_colour_does_not_bleed() -> None:
    """As with alpha: what is hidden has no part in its neighbours."""
    image = transparent("P").resize((16, 16), Image.Resampling.NEAREST)
    image.info["transparency"] = 1
    ours = middle(image, 8)
    assert (ours == recipe(image.convert("RGBA"), 8)).all()
    assert most(ours, recipe(image.convert("RGB"), 8)) > 50


def test_a_transparent_colour_of_an_opaque_mode() -> None:
    image = Image.new("RGB", (4, 4), (1, 2, 3))
    image.info["transparency"] = (1, 2, 3)
    assert (middle(image, 4, background=(9, 9, 9)) == 9).all()
    assert (middle(image, 4) == (1, 2, 3)).all()
