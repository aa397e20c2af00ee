from __future__ import annotations

import pytest

from barrow.corpus.reader_table import READER_NAMES, reader_named
from barrow.errors import ConfigError


@pytest.mark.parametrize("name", READER_NAMES)
def test_every_reader_is_there(name: str) -> None:
    reader = reader_named(name)
    assert reader.name == name
    assert reader.patterns
    assert reader.version >= 1


def test_a_reader_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="did you mean 'plain_text'"):
        reader_named("plaintext")
