from __future__ import annotations

from dataclasses import replace

import pytest
from tests.stream.pairs.conftest import Words

from barrow import config
from barrow.stream.pairs import PairChoices, PairIndex, make_pairs


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
