"""SPEC CLIP-12: batches of pairs as a function of (seed, step)."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from PIL import Image
from tests.stream.pairs.conftest import Words, captions, pixels, png, said

from barrow import config
from barrow.errors import BadImage, ConfigError, NotFound, StoreError
from barrow.images import Limits, centre_square, random_box, square
from barrow.stream import Mixture
from barrow.stream.pairs import (
    PairChoices,
    PairIndex,
    PairSettings,
    PairStream,
    index_pairs,
    make_pairs,
    pairs_at,
)
from barrow.stream.pairs.draws import draws


@pytest.fixture
def index(make: Callable, tmp_path: Path) -> PairIndex:
    sources = [make("tars", "one", 0, 14), make("folder", "two", 14, 20)]
    return index_pairs(sources, tmp_path / "index")


def stream_of(index: PairIndex, **options: object) -> PairStream:
    told = {"texts": Words(), "seed": 3, "batch": 6, "resolution": 8, **options}
    return PairStream(index, **told)  # type: ignore[arg-type]


def same(one: object, other: object) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("images", "texts", "mask", "pairs", "captions")
    )


def test_a_batch_is_its_pairs(index: PairIndex) -> None:
    stream = stream_of(index, crop="centre")
    for step in range(5):
        batch = stream.batch(step)
        assert batch.images.dtype == np.uint8
        assert batch.mask.all()
        assert batch.num_pairs == 6
        for row, pair in enumerate(batch.pairs.tolist()):
            expected = centre_square(Image.fromarray(pixels(pair)), resolution=8)
            assert (batch.images[row] == expected).all()
            assert said(batch.texts[row]) == captions(pair)[batch.captions[row]]


def test_every_slice_is_that_of_the_whole(index: PairIndex) -> None:
    stream = stream_of(index, min_area=0.3, templates=("a {}", "the {}"))
    whole = stream.batch(4)
    for first in range(6):
        for last in range(first, 7):
            part = stream.batch(4, rows=slice(first, last))
            for name in ("images", "texts", "mask", "pairs", "captions"):
                assert np.array_equal(getattr(part, name), getattr(whole, name)[first:last])
    ranks = [stream.batch(4, rank=rank, of=3) for rank in range(3)]
    assert np.array_equal(np.concatenate([part.images for part in ranks]), whole.images)


def test_a_slice_reads_only_its_images(index: PairIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = stream_of(index)
    numbers = stream.pairs(2).tolist()
    read: list[int] = []
    whole = PairIndex.read
    monkeypatch.setattr(PairIndex, "read", lambda self, n: (read.append(n), whole(self, n))[1])
    stream.batch(2, rows=slice(1, 4))
    assert sorted(read) == sorted(numbers[1:4])


def test_each_epoch_has_every_pair_once_in_another_order(index: PairIndex) -> None:
    stream = stream_of(index, batch=10, mixture=Mixture(epochs={"one": 2.0, "two": 2.0}))
    assert stream.num_steps == 4
    seen = np.concatenate([stream.pairs(step) for step in range(4)])
    assert Counter(seen.tolist()) == Counter(list(range(20)) * 2)
    assert seen[:20].tolist() != seen[20:].tolist()
    other = stream_of(index, batch=10, seed=4)
    assert other.pairs(0).tolist() != stream.pairs(0).tolist()


def test_a_last_partial_batch_is_padded(index: PairIndex) -> None:
    stream = stream_of(index, batch=8, mixture=Mixture(epochs={"two": 1.0}))
    assert stream.num_steps == 1
    batch = stream.batch(0)
    assert batch.mask.tolist() == [True] * 6 + [False] * 2
    assert batch.num_pairs == 6
    assert sorted(batch.pairs.tolist()) == [-1, -1, *range(14, 20)]
    assert not batch.images[6:].any()
    assert not batch.texts[6:].any()
    assert batch.captions[6:].tolist() == [-1, -1]
    with pytest.raises(ValueError, match="past the end"):
        stream.batch(1)


def test_mixtures_are_by_source(index: PairIndex) -> None:
    stream = stream_of(index, batch=8, mixture=Mixture(weights={"one": 3.0, "two": 1.0}))
    for step in range(6):
        assert int((stream.pairs(step) >= 14).sum()) == 2
    with pytest.raises(ConfigError, match="names 'ones'; did you mean 'one'"):
        stream_of(index, mixture=Mixture(weights={"ones": 1.0}))


def test_random_crops_differ_by_epoch_and_stay_within(index: PairIndex) -> None:
    stream = stream_of(index, batch=20, min_area=0.3)
    first, second = stream.batch(0), stream.batch(1)
    by_pair = [dict(zip(b.pairs.tolist(), b.images, strict=True)) for b in (first, second)]
    assert sorted(by_pair[0]) == sorted(by_pair[1]) == list(range(20))
    assert sum(np.array_equal(by_pair[0][n], by_pair[1][n]) for n in range(20)) == 0


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


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_and_processes_change_nothing(index: PairIndex, threads: int) -> None:
    stream = stream_of(index, min_area=0.5)
    again = pickle.loads(pickle.dumps(stream_of(index, min_area=0.5, threads=threads)))
    assert same(stream.batch(7), again.batch(7))


def test_saved_and_loaded(index: PairIndex, tmp_path: Path) -> None:
    stream = stream_of(index, min_area=0.5, templates=("a {}",), background=(1, 2, 3))
    stream.save(tmp_path / "pairs_stream.json")
    again = PairStream.load(tmp_path, texts=Words())
    assert again.settings == stream.settings
    assert same(again.batch(3), stream.batch(3))
    other = Words()
    other.hash = "others"
    with pytest.raises(StoreError, match="saved with encoder words, this one is others"):
        PairStream.load(tmp_path, texts=other)
    with pytest.raises(NotFound, match="no saved stream of pairs: no such file"):
        PairStream.load(tmp_path / "none.json", texts=Words())


def test_another_index_is_refused(index: PairIndex, make: Callable, tmp_path: Path) -> None:
    stream_of(index).save(tmp_path / "s.json")
    other = index_pairs(make("folder", "three"), tmp_path / "index 3")
    with pytest.raises(StoreError, match="its pairs have changed, and so would every batch"):
        PairStream.load(tmp_path / "s.json", texts=Words(), index=other)


def test_going_on_from_a_step(index: PairIndex) -> None:
    stream = stream_of(index)
    with stream.prefetch(0, 6) as batches:
        whole = dict(batches)
    with stream.prefetch(4, 6, threads=2) as batches:
        rest = dict(batches)
    assert list(rest) == [4, 5]
    assert all(same(rest[step], whole[step]) for step in rest)
    assert [step for step, _ in stream.numpy(2, 4)] == [2, 3]
    with pytest.raises(ValueError, match="steps count from 0"):
        stream.prefetch(-1)
    with pytest.raises(ValueError, match="leave out rank and of"):
        stream.prefetch(0, place=jax.devices()[0], rank=0, of=2)  # type: ignore[arg-type]


def test_on_a_mesh(index: PairIndex) -> None:
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "fsdp"))
    stream = stream_of(index, batch=16)
    for spec in (PartitionSpec(("data", "fsdp")), PartitionSpec("data"), PartitionSpec()):
        sharding = NamedSharding(mesh, spec)
        with stream.prefetch(1, 2, place=sharding) as batches:
            ((_, placed),) = batches
        whole = stream.batch(1).arrays()
        assert sorted(placed) == ["images", "mask", "texts"]
        for name, array in placed.items():
            assert array.sharding == sharding
            assert np.array_equal(np.asarray(array), whole[name])


def test_a_broken_image_is_named(index: PairIndex) -> None:
    stream = stream_of(index, batch=20)
    (Path(index.told.domains[1].root) / "017.png").write_bytes(bytes(len(png(17))))
    with pytest.raises(BadImage, match="^017.png: expected an image"):
        stream.batch(0)


def test_explained(index: PairIndex) -> None:
    stream = stream_of(index, batch=8, mixture=Mixture(epochs={"two": 1.0}))
    seen = pairs_at(stream, 0)
    batch = stream.batch(0)
    assert [one.pair for one in seen] == batch.pairs[:6].tolist()
    assert [one.text for one in seen] == [said(row) for row in batch.texts[:6]]
    assert pairs_at(stream, 0, row=2) == [seen[2]]
    assert str(seen[0]) == f"row 0: two, {seen[0].name}, {seen[0].text!r}"
    with pytest.raises(ValueError, match="step 0 has rows 0 to 7, not 8"):
        pairs_at(stream, 0, row=8)


def test_choices(index: PairIndex) -> None:
    choices = config.override(
        PairChoices(),
        ["batch=5", "seed=3", "resolution=8", 'templates=["a {}"]', 'epochs={"one": 1}'],
    )
    assert config.from_json(PairChoices, config.to_json(choices)) == choices
    stream = make_pairs(index.folder, choices, texts=Words(), resolution=8)
    assert stream.num_steps == 3
    assert (stream.shape(0), stream.shapes(0)["images"]) == ((5, 24), (5, 8, 8, 3))
    natural = PairChoices(batch=5, seed=3)
    assert make_pairs(index, natural, texts=Words(), resolution=8).num_steps is None
    once = replace(natural, max_epochs=1)
    assert make_pairs(index, once, texts=Words(), resolution=8).num_steps == 4
    with pytest.raises(ValueError, match="resolution is 8 in the choices, and the model's 9"):
        make_pairs(index, choices, texts=Words(), resolution=9)
    with pytest.raises(ValueError, match="say batch=… and resolution=…"):
        make_pairs(index, PairChoices(), texts=Words())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"resolution": 0}, "resolution: expected 1 or more"),
        ({"min_area": 0.0}, "min_area is a share"),
        ({"crop": "middle"}, "crop is random or centre, not 'middle'"),
        ({"crop": "centre", "min_area": 0.5}, "min_area is for crop 'random'"),
        ({"caption": "last"}, "caption is random or first"),
        ({"templates": ("a cat",)}, "a template has one {} where the caption goes"),
        ({"background": (0, 0, 256)}, "red, green and blue from 0 to 255"),
    ],
)
def test_wrong_settings(index: PairIndex, wrong: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        stream_of(index, **wrong)


def test_settings_are_json(index: PairIndex) -> None:
    settings = stream_of(index, background=(1, 2, 3), templates=("{}",)).settings
    assert config.from_json(PairSettings, config.to_json(settings)) == settings
    assert "6 pairs a step, 8 pixels; endless" in repr(stream_of(index))
