from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barrow.corpus.report.composition import composition, languages, licences
from barrow.corpus.report.totals import survey


def test_splits_are_parts_of_a_bar(told_manifest: dict[str, Any]) -> None:
    made = composition(survey(told_manifest))
    assert '<rect x="0" y="0" width="92.31" height="10" class="train">' in made
    assert 'class="validation"' in made
    del told_manifest["splits"]["validation"], told_manifest["splits"]["test"]
    alone = composition(survey(told_manifest))
    assert 'class="legend"' not in alone
    assert "no validation or test split" in alone


def test_licences_and_languages_by_domain(
    told_manifest: dict[str, Any], read_page: Callable
) -> None:
    told = survey(told_manifest)
    tables = read_page(licences(told)).tables
    assert tables["Text, share of the text and documents by licence"][1:] == [
        ["CC0-1.0", "62950", "95.4%", "81"],
        ["not stated", "3050", "4.6%", "4"],
    ]
    assert tables["Licences by domain"][2] == ["Letters", "not stated", "3000", "4.6%", "3"]
    tables = read_page(languages(told)).tables
    assert tables["Languages by domain"][1:] == [
        ["Letters", "en", "65000", "100%", "65"],
        ["Notes", "en", "1000", "100%", "20"],
    ]


def test_many_languages_are_folded(told_manifest: dict[str, Any], read_page: Callable) -> None:
    notes = told_manifest["splits"]["train"]["domains"]["Notes"]
    notes["languages"] = {f"l{n:02d}": {"documents": 1, "bytes": 60 - n} for n in range(40)}
    page = read_page(languages(survey(told_manifest)))
    assert len(page.tables["Text, share of the text and documents by language"]) == 1 + 24
    assert len(page.tables["17 more"]) == 1 + 17
