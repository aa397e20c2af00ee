"""Compressors as models: each document alone, or a domain whole (PILE-2)."""

from __future__ import annotations

import gc
import math

import pytest
from tests.score.baselines.test_codecs import text

from barrow.score.baselines.codecs import named_codec
from barrow.score.baselines.compressors import (
    Compressor,
    WholeCompressor,
    is_compressor,
    open_compressor,
)

TEXTS = [text(200, 1), b"", text(300, 2), b"a", text(200, 1)]
BYTE = 8 * math.log(2)


def test_a_document_is_compressed_alone() -> None:
    codec = named_codec("xz")
    scores = open_compressor("xz").score(TEXTS)
    assert [score.nats / BYTE for score in scores] == pytest.approx(
        [codec.measure([data], len(data)) if data else 0 for data in TEXTS]
    )
    # The same text costs the same, whatever came before.
    assert scores[0].nats == scores[4].nats
    assert all(score.tokens == 0 and score.byte_nats is None for score in scores)


def test_threads_make_no_difference() -> None:
    codec = named_codec("zstd:3")
    found = [
        [score.nats for score in Compressor(codec, threads=threads).score(TEXTS * 4)]
        for threads in (1, 3)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["whole:xz", "whole:zstd:19", "whole:brotli:9", "whole:ppmd"])
def test_a_domain_is_compressed_whole(name: str) -> None:
    model = open_compressor(name)
    assert isinstance(model, WholeCompressor)
    scorers = model.begin(), model.begin()
    for data in TEXTS:
        scorers[0].add(data)
    scorers[1].add(b"".join(TEXTS))
    codec = named_codec(name.removeprefix("whole:"))
    joined = b"".join(TEXTS)
    expected = codec.measure([joined], len(joined)) * BYTE
    assert [scorer.nats() for scorer in scorers] == [expected, expected]
    alone = sum(score.nats for score in Compressor(codec).score(TEXTS))
    assert expected < alone


def test_a_domain_without_text() -> None:
    model = open_compressor("whole:xz")
    assert isinstance(model, WholeCompressor)
    assert model.begin().nats() == 0


def test_nothing_is_left_open() -> None:
    """A run that fails never asks for the figure; the temporary file goes all the same."""
    model = open_compressor("whole:xz")
    assert isinstance(model, WholeCompressor)
    scorer = model.begin()
    scorer.add(b"x")
    file = scorer._file  # type: ignore[attr-defined]
    del scorer
    gc.collect()
    assert file.closed


def test_cards_keep_them_apart() -> None:
    alone, whole = open_compressor("xz"), open_compressor("whole:xz")
    assert (alone.likelihood, alone.window, alone.scope) == ("compressed", None, "document")
    assert (whole.likelihood, whole.window, whole.scope) == ("compressed", None, "domain")
    assert alone.info.identity != whole.info.identity
    assert (alone.info.name, whole.info.name) == ("xz", "whole:xz")
    assert alone.info.kind == "compressor"


def test_level_and_library_are_told() -> None:
    about = open_compressor("zstd:7").info.about
    assert about["level"] == 7
    assert about["library"].startswith("zstd 1.")
    assert open_compressor("zstd:7").info.identity != open_compressor("zstd:8").info.identity


@pytest.mark.parametrize("name", ["xz", "zstd:19", "whole:xz", "whole:zstd:3", "brotli", "ppmd"])
def test_names(name: str) -> None:
    assert is_compressor(name)


@pytest.mark.parametrize("name", ["gzip", "whole", "./xz", "xz9", ""])
def test_other_names(name: str) -> None:
    assert not is_compressor(name)


def test_wrong_names() -> None:
    with pytest.raises(ValueError, match="no compressor 'gzip'"):
        open_compressor("whole:gzip")
