from __future__ import annotations

import pytest

from barrow import config
from barrow.errors import ConfigError
from barrow.stream import Mixture, Mlm, Phase, Schedule, StreamSettings, constant

MIXTURE = Mixture(weights={"A": 1.0})
ONE = constant(seq_len=12, batch=4, mixture=MIXTURE)


def test_saved_and_read_back() -> None:
    settings = StreamSettings(3, ONE.then(Phase(9, 6, 8, MIXTURE)), mlm=Mlm(whole_word=True), pad=2)
    assert config.from_json(StreamSettings, config.to_json(settings)) == settings
    bucketed = StreamSettings(3, ONE, "document", (4, 12))
    assert config.from_json(StreamSettings, config.to_json(bucketed)) == bucketed


def test_widths() -> None:
    assert StreamSettings(0, ONE, "document").widths == (1, 2, 4, 8, 12)
    assert StreamSettings(0, ONE, "document", (6, 12)).widths == (6, 12)


def test_bad_input() -> None:
    with pytest.raises(ConfigError, match="packing is cut, fit or document, not 'tight'"):
        StreamSettings(0, ONE, "tight")  # type: ignore[arg-type]
    lengths = Schedule((Phase(0, 8, 4, MIXTURE), Phase(3, 16, 4, MIXTURE)))
    assert StreamSettings(0, lengths).packing == "cut"
    for packing in ("fit", "document"):
        with pytest.raises(ConfigError, match="one seq_len, and the schedule has 8, 16; .*'cut'"):
            StreamSettings(0, lengths, packing)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="buckets are for packing 'document', not 'cut'"):
        StreamSettings(0, ONE, buckets=(4, 12))
    for wrong in ((), (4,), (8, 4, 12), (0, 12), (4, 4, 12), (4, 16)):
        with pytest.raises(ConfigError, match="ascending widths that end with seq_len 12"):
            StreamSettings(0, ONE, "document", wrong)
