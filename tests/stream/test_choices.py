from __future__ import annotations

from typing import Any

import pytest

from barrow import config
from barrow.errors import ConfigError
from barrow.stream import Mixture, Mlm, constant
from barrow.stream.choices import Choices, make_stream


def choose(*assignments: str) -> Choices:
    return config.override(Choices(seq_len=8, batch=4), assignments)


def test_the_mixture(token_store: Any) -> None:
    folder = token_store.folder
    natural = make_stream(folder, choose("seed=3"))
    sizes = {n: token_store.domain_tokens(d) for d, n in enumerate(token_store.domains)}
    assert natural.settings.schedule.phases[0].mixture == Mixture(weights=sizes)
    assert natural.settings.seed == 3
    capped = make_stream(folder, choose("max_epochs=2"))
    assert capped.settings.schedule.phases[0].mixture == Mixture(weights=sizes, max_epochs=2.0)
    assert capped.num_steps is not None
    epochs = make_stream(folder, choose('epochs={"A":1.5,"B":1}', "max_epochs=1.2"))
    expected = Mixture(epochs={"A": 1.5, "B": 1.0}, max_epochs=1.2)
    assert epochs.settings.schedule.phases[0].mixture == expected


def test_the_rest(token_store: Any) -> None:
    stream = make_stream(
        token_store.folder,
        choose("packing=document", "buckets=[2,8]", 'mlm={"whole_word":true}', "pad=257"),
    )
    assert stream.settings.packing == "document"
    assert stream.settings.buckets == (2, 8)
    assert stream.settings.mlm == Mlm(whole_word=True)
    assert stream.settings.pad == 257
    schedule = constant(seq_len=4, batch=2, mixture=Mixture(weights={"A": 1.0}))
    given = make_stream(token_store.folder, Choices(schedule=schedule, seed=1))
    assert given.settings.schedule == schedule


def test_bad_input(token_store: Any) -> None:
    with pytest.raises(ConfigError, match="did you mean 'seq_len'"):
        choose("seqlen=4")
    with pytest.raises(ConfigError, match="exactly one of weights, epochs and tokens"):
        make_stream(token_store.folder, choose('weights={"A":1}', 'tokens={"A":10}'))
    with pytest.raises(ConfigError, match="say seq_len"):
        make_stream(token_store.folder, Choices())
