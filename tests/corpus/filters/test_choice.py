from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from barrow import config
from barrow.corpus.filters.c4 import C4
from barrow.corpus.filters.choice import Filters
from barrow.corpus.filters.gopher_quality import GopherQuality
from barrow.corpus.filters.length import Length
from barrow.corpus.filters.pii import RedactPii
from barrow.corpus.filters.repair import Repair
from barrow.corpus.filters.rules import UrlRule
from barrow.errors import ConfigError


def test_nothing_is_run_that_is_not_set() -> None:
    assert Filters().rewriters == []
    assert Filters().deciding == []


def test_the_order_is_that_of_the_fields() -> None:
    filters = Filters(c4=C4(), length=Length(), repair=Repair(), redact_pii=RedactPii())
    assert filters.rewriters == [filters.repair, filters.redact_pii]
    assert filters.deciding == [filters.length, filters.c4]


def test_every_field_is_run() -> None:
    """A filter that somebody adds as a field and forgets to run would do nothing, silently."""

    class Mark:
        pass

    marks = {field.name: Mark() for field in fields(Filters)}
    filters = Filters(**marks)  # type: ignore[arg-type]
    assert {*filters.rewriters, *filters.deciding} == set(marks.values())  # type: ignore[arg-type]


def test_settings_are_saved_and_read_back() -> None:
    filters = Filters(gopher_quality=GopherQuality(min_words=20), redact_pii=RedactPii())
    assert config.from_dict(Filters, config.to_dict(filters)) == filters
    with pytest.raises(ConfigError, match="gopher_quality"):
        config.from_dict(Filters, {"gopher_qualty": {}})


def test_files_that_decide_are_part_of_the_settings(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("example.org\n")
    filters = Filters(url=UrlRule(deny_files=(hosts,)))
    first = filters.resolved()
    hosts.write_text("example.com\n")
    assert first != filters.resolved()
    assert Filters(length=Length()).resolved() == Filters(length=Length())
