from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from barrow.errors import MissingExtra
from barrow.score.baselines.codecs import Codec, named_codec
from barrow.score.conformance import compressors
from barrow.score.conformance.check import barrow_scorer
from barrow.score.conformance.compressors import compressors_checks

(CHECK,) = compressors_checks()


def test_all_that_are_installed_are_checked() -> None:
    found = CHECK.run(barrow_scorer)
    assert found.passed
    assert [told.split()[0] for told in found.numbers.split(", ")][:2] == ["zstd:19", "xz"]


@pytest.mark.parametrize("broken", ["zstd:19", "xz"])
def test_a_container_that_is_counted_fails(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(name: str) -> Codec:
        codec = named_codec(name)

        def measure(pieces: Iterable[bytes], num_bytes: int) -> int:
            return codec.measure(pieces, num_bytes) + (name == broken)

        return replace(codec, measure=measure)

    monkeypatch.setattr(compressors, "named_codec", counted)
    assert not CHECK.run(barrow_scorer).passed


def test_what_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(name: str) -> Codec:
        if name != "xz":
            raise MissingExtra(name, "compressors", "scoring")
        return named_codec(name)

    monkeypatch.setattr(compressors, "named_codec", lacking)
    found = CHECK.run(barrow_scorer)
    assert found.passed
    assert found.numbers.startswith("xz ")
    assert "," not in found.numbers
