"""SPEC CLIP-12: crops and captions are draws of (seed, step, row)."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from tests.stream.pairs.conftest import captions, pixels, png, stream_of

from barrow.errors import BadImage
from barrow.images import Limits, random_box, square
from barrow.stream.pairs import PairIndex, index_pairs, pairs_at
from barrow.stream.pairs.draws import draws


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
    with pytest.raises(BadImage, match="clear.png: 9 × 9 pixels, and at most 80"):
        stream_of(index, batch=1, crop=crop, limits=Limits(pixels=80)).batch(0)


def test_captions_are_drawn_from_all_and_anew(index: PairIndex) -> None:
    stream = stream_of(index, batch=20)
    drawn: dict[int, set[int]] = {}
    for step in range(40):
        numbers = stream.pairs(step).tolist()
        for seen, pair in zip(pairs_at(stream, step), numbers, strict=True):
            drawn.setdefault(pair, set()).add(captions(pair).index(seen.text))
    assert all(drawn[n] == set(range(len(captions(n)))) for n in range(20))
    calm = stream_of(index, caption="first")
    assert not calm.batch(0).captions.any()


def test_templates_hold_the_caption(index: PairIndex) -> None:
    stream = stream_of(index, batch=20, caption="first", templates=("a {}!", "{} {{x}}"))
    texts = [seen.text for seen in pairs_at(stream, 0)]
    plain = [captions(n)[0] for n in stream.pairs(0)]
    kinds = {text.replace(one, "#") for text, one in zip(texts, plain, strict=True)}
    assert kinds == {"a #!", "# {{x}}"}


def test_a_broken_image_is_named(index: PairIndex) -> None:
    stream = stream_of(index, batch=20)
    (Path(index.told.domains[1].root) / "017.png").write_bytes(bytes(len(png(17))))
    with pytest.raises(BadImage, match="^017.png: expected an image"):
        stream.batch(0)
