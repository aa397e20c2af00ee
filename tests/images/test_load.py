"""CLIP-9: many images at once."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from barrow.errors import BadImage
from barrow.images import Limits, centre_square, load_images
from barrow.images.load import on_threads


def noise(number: int) -> np.ndarray:
    shape = (20 + number, 31 - number, 3)
    return np.random.default_rng(number).integers(0, 256, shape, np.uint8)


def test_paths_bytes_images_and_arrays_are_alike(tmp_path: Path) -> None:
    pixels = noise(1)
    image = Image.fromarray(pixels)
    path = tmp_path / "a.png"
    image.save(path)
    every = [str(path), path, path.read_bytes(), image, pixels]
    out = load_images(every, resolution=12)
    assert out.shape == (5, 12, 12, 3)
    assert out.dtype == np.uint8
    assert (out == centre_square(image, resolution=12)).all()


@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_threads_change_nothing(threads: int | None) -> None:
    images = [noise(n) for n in range(11)]
    expected = np.stack([centre_square(Image.fromarray(i), resolution=9) for i in images])
    assert (load_images(images, resolution=9, threads=threads) == expected).all()


def test_none_at_all() -> None:
    assert load_images([], resolution=7).shape == (0, 7, 7, 3)


def test_the_first_broken_image_is_named(tmp_path: Path) -> None:
    good = io.BytesIO()
    Image.fromarray(noise(0)).save(good, "PNG")
    bad = tmp_path / "bad.png"
    bad.write_bytes(good.getvalue()[:-300])
    with pytest.raises(BadImage, match="bad.png: the image is cut off"):
        load_images([good.getvalue(), bad, b"nonsense"], resolution=8, threads=2)
    with pytest.raises(BadImage, match="image 2: expected an image"):
        load_images([good.getvalue(), noise(1), b"nonsense"], resolution=8)
    with pytest.raises(BadImage, match="none.png: No such file") as caught:
        load_images([tmp_path / "none.png"], resolution=8)
    assert caught.value.reason == "missing"
    with pytest.raises(BadImage, match="at most 5 pixels"):
        load_images([good.getvalue()], resolution=8, limits=Limits(pixels=5))


def test_background_is_passed_on() -> None:
    clear = Image.new("RGBA", (6, 6), (0, 0, 0, 0))
    assert (load_images([clear], resolution=3, background=(1, 2, 3)) == (1, 2, 3)).all()


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="image 1: expected a path, .* or pixels, got int"):
        load_images([np.zeros((4, 4, 3), np.uint8), 3], resolution=4)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="got one: put it in a list"):
        load_images("a.png", resolution=8)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="resolution: expected 1 or more"):
        load_images([noise(0)], resolution=0)
    with pytest.raises(ValueError, match="threads must be ≥ 1"):
        load_images([noise(0)], resolution=4, threads=0)
    with pytest.raises(ValueError, match=r"image 1: expected uint8 pixels .* float64 \[3, 3\]"):
        load_images([noise(0), np.zeros((3, 3))], resolution=4)


def test_threads_are_used_and_the_least_number_s_error_is_raised() -> None:
    seen = set()
    barrier = threading.Barrier(2, timeout=30)

    def meet(number: int) -> None:
        seen.add(threading.get_ident())
        barrier.wait()
        raise KeyError(number)

    with pytest.raises(KeyError, match="0"):
        on_threads(meet, 2, threads=2)
    assert len(seen) == 2
