from __future__ import annotations

import pytest
from tests.stream.pairs.conftest import stream_of

from barrow import config
from barrow.errors import ConfigError
from barrow.stream.pairs import PairIndex, PairSettings


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"resolution": 0}, "resolution: expected 1 or more"),
        ({"min_area": 0.0}, "min_area must be"),
        ({"crop": "middle"}, "crop must be random or centre, got 'middle'"),
        ({"crop": "centre", "min_area": 0.5}, "min_area needs crop 'random'"),
        ({"caption": "last"}, "caption must be random or first"),
        ({"templates": ("a cat",)}, "a template needs one {} for the caption"),
        ({"background": (0, 0, 256)}, "red, green and blue from 0 to 255"),
    ],
)
def test_wrong_settings(index: PairIndex, wrong: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        stream_of(index, **wrong)


def test_settings_are_json(index: PairIndex) -> None:
    settings = stream_of(index, background=(1, 2, 3), templates=("{}",)).settings
    assert config.from_json(PairSettings, config.to_json(settings)) == settings
    assert "of Pairs" in repr(stream_of(index))
