"""CLIP-12: crops and captions are draws of (seed, step, row)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.stream.pairs.conftest import captions, pixels, png, stream_of

from barrow.errors import BadImage
from barrow.images import Limits, random_box, square
from barrow.stream.pairs import PairBatch, PairIndex, index_pairs
from barrow.stream.pairs.collate import draws


def test_a_crop_is_the_draw_of_its_row(index: PairIndex) -> None:
    batch = stream_of(index, min_area=0.2).batch(5)
    kinds = ("pair area", "pair left", "pair top")
    drawn = [draws(kind, seed=3, step=5, rows=range(6)).tolist() for kind in kinds]
    for row, pair in enumerate(batch.pairs.tolist()):
        image = Image.fromarray(pixels(pair))
        where = tuple(draw[row] for draw in drawn)
        box = random_box(*image.size, draws=where, min_area=0.2)
        assert (batch.images[row] == square(image, box, resolution=8)).all()


@pytest.mark.parametrize("crop", ["centre", "random"])
def test_background_and_limits_hold(crop: str, tmp_path: Path) -> None:
    (tmp_path / "pics").mkdir()
    Image.new("RGBA", (9, 9), (0, 0, 0, 0)).save(tmp_path / "pics" / "clear.png")
    index = index_pairs(tmp_path / "pics", tmp_path / "index")
    batch = stream_of(index, batch=1, crop=crop, background=(1, 2, 3)).batch(0)
    assert (batch.images == (1, 2, 3)).all()
    with pytest.raises(BadImage, match="clear.png: 9 × 9 pixels, but at most 80"):
        stream_of(index, batch=1, crop=crop, limits=Limits(pixels=80)).batch(0)


def test_captions_are_drawn_from_all_and_anew(index: PairIndex) -> None:
    stream = stream_of(index, batch=20)
    drawn: dict[int, set[int]] = {}
    for step in range(40):
        numbers = stream.samples(step).tolist()
        for seen, pair in zip(stream.explain(step), numbers, strict=True):
            drawn.setdefault(pair, set()).add(captions(pair).index(seen.text))
    assert all(drawn[n] == set(range(len(captions(n)))) for n in range(20))
    calm = stream_of(index, caption="first")
    assert not calm.batch(0).captions.any()


def test_templates_hold_the_caption(index: PairIndex) -> None:
    stream = stream_of(index, batch=20, caption="first", templates=("a {}!", "{} {{x}}"))
    texts = [seen.text for seen in stream.explain(0)]
    plain = [captions(n)[0] for n in stream.samples(0)]
    kinds = {text.replace(one, "#") for text, one in zip(texts, plain, strict=True)}
    assert kinds == {"a #!", "# {{x}}"}


def test_a_broken_image_is_named(index: PairIndex) -> None:
    stream = stream_of(index, batch=20)
    (Path(index.manifest.domains[1].root) / "017.png").write_bytes(bytes(len(png(17))))
    with pytest.raises(BadImage, match="^017.png: expected an image"):
        stream.batch(0)


def test_parts_of_a_batch_draw_as_the_whole() -> None:
    whole = draws("x", seed=1, step=2, rows=range(100))
    assert np.array_equal(draws("x", seed=1, step=2, rows=range(30, 50)), whole[30:50])


def test_draws_are_even_and_apart() -> None:
    whole = draws("x", seed=1, step=2, rows=range(20_000))
    assert 0 <= whole.min() < whole.max() < 1
    counts = np.histogram(whole, bins=20, range=(0, 1))[0]
    assert np.abs(counts - 1000).max() < 150  # five standard deviations
    for other in ({"step": 3}, {"seed": 2}, {"purpose": "y"}):
        told = {"purpose": "x", "seed": 1, "step": 2, **other}
        purpose = str(told.pop("purpose"))
        drawn = draws(purpose, rows=range(20_000), **told)  # type: ignore[arg-type]
        assert abs(float(np.corrcoef(whole, drawn)[0, 1])) < 0.04
    assert abs(float(np.corrcoef(whole[1:], whole[:-1])[0, 1])) < 0.04


def test_they_stay_what_they_are() -> None:
    """A saved run depends on them."""
    assert draws("pair caption", seed=0, step=0, rows=range(3)).tolist() == [
        0.663710373557615,
        0.6604149179700246,
        0.10532317191744345,
    ]


def test_what_goes_to_a_device_and_how_many_count() -> None:
    mask = np.array([True, False, True])
    numbers = np.array([4, -1, 2])
    images, texts = np.zeros((3, 2, 2, 3), np.uint8), np.zeros((3, 5), np.int32)
    batch = PairBatch(images, texts, mask, numbers, numbers)
    arrays = batch.arrays()
    assert list(arrays) == ["images", "texts", "mask"]
    assert arrays["images"] is images
    assert batch.num_pairs == 2
