from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barrow import config
from barrow.errors import ConfigError
from barrow.stream import Mixture, Mlm, Phase, Schedule, Stream, StreamSettings, constant

MIXTURE = Mixture(weights={"A": 1.0})
ONE = constant(seq_len=12, batch=4, mixture=MIXTURE)


def settings(*assignments: str) -> StreamSettings:
    return config.override(StreamSettings(seq_len=8, batch=4), assignments)


def test_saved_and_read_back() -> None:
    phases = StreamSettings(
        seed=3, schedule=ONE.then(Phase(9, 6, 8, MIXTURE)), mlm=Mlm(whole_word=True), pad=2
    )
    assert config.from_json(StreamSettings, config.to_json(phases)) == phases
    bucketed = StreamSettings(schedule=ONE, packing="document", buckets=(4, 12))
    assert config.from_json(StreamSettings, config.to_json(bucketed)) == bucketed


def test_the_mixture(token_store: Any) -> None:
    """Without one, domains are read in proportion to their tokens, by as many epochs as asked."""

    def mixture(*assignments: str) -> Mixture:
        stream = Stream(settings(*assignments).open(token_store.folder))
        return stream.order.schedule.phases[0].mixture

    sizes = {n: float(token_store.domain_tokens(d)) for d, n in enumerate(token_store.domains)}
    assert mixture("seed=3") == Mixture(weights=sizes)
    assert mixture("max_epochs=2") == Mixture(weights=sizes, max_epochs=2.0)
    found = mixture('epochs={"A":1.5,"B":1}', "max_epochs=1.2")
    assert found == Mixture(epochs={"A": 1.5, "B": 1.0}, max_epochs=1.2)
    assert mixture('tokens={"A":100}') == Mixture(tokens={"A": 100})


def test_the_rest() -> None:
    found = settings("packing=document", "buckets=[2,8]", 'mlm={"whole_word":true}', "pad=257")
    assert (found.packing, found.buckets, found.pad) == ("document", (2, 8), 257)
    assert found.mlm == Mlm(whole_word=True)


def test_phases() -> None:
    """Settings of one phase become a schedule of it, and say what all phases have."""
    one = settings('weights={"A":1}')
    assert (one.batches, one.longest) == ((4,), 8)
    schedule = one.resolve({"A": 9}).then(Phase(5, 6, 2, MIXTURE))
    both = one.with_schedule(schedule)
    assert (both.batches, both.longest) == ((4, 2), 8)
    assert both.resolve({"A": 9}) == schedule
    assert replace(both, seed=1).schedule == schedule


def test_widths() -> None:
    document = StreamSettings(schedule=ONE, packing="document")
    assert document.widths == (1, 2, 4, 8, 12)
    assert replace(document, buckets=(6, 12)).widths == (6, 12)


def test_bad_input(token_store: Any) -> None:
    with pytest.raises(ConfigError, match="did you mean 'seq_len'"):
        settings("seqlen=4")
    with pytest.raises(ConfigError, match="exactly one of weights, epochs and tokens"):
        Stream(settings('weights={"A":1}', 'tokens={"A":10}').open(token_store))
    for missing in ("seq_len=null", "batch=null"):
        with pytest.raises(ConfigError, match="pass seq_len and batch, or a schedule"):
            Stream(settings(missing).open(token_store))
    with pytest.raises(ConfigError, match="pass batch"):
        _ = settings("batch=null").batches
    with pytest.raises(ConfigError, match="packing must be cut, fit or document, got 'tight'"):
        StreamSettings(schedule=ONE, packing="tight")  # type: ignore[arg-type]
    lengths = Schedule((Phase(0, 8, 4, MIXTURE), Phase(3, 16, 4, MIXTURE)))
    assert StreamSettings(schedule=lengths).packing == "cut"
    for packing in ("fit", "document"):
        with pytest.raises(ConfigError, match="one seq_len, but the schedule has 8, 16; .*'cut'"):
            StreamSettings(schedule=lengths, packing=packing)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="buckets need packing 'document', got 'cut'"):
        StreamSettings(schedule=ONE, buckets=(4, 12))
    for wrong in ((), (4,), (8, 4, 12), (0, 12), (4, 4, 12), (4, 16)):
        with pytest.raises(ConfigError, match="ascending widths that end with seq_len 12"):
            StreamSettings(schedule=ONE, packing="document", buckets=wrong)
