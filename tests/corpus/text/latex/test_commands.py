from __future__ import annotations

from barrow.corpus.text.latex.commands import DROPPED, ENVIRONMENT_ARGUMENTS, STRUCTURE, TABLES


def test_arguments_are_spelt_rightly() -> None:
    for spec in [*DROPPED.values(), *ENVIRONMENT_ARGUMENTS.values(), *TABLES.values()]:
        assert set(spec) <= set("*omp")
    assert "section" in STRUCTURE
