from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barrow.corpus import Domain, PlainText, Recipe
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.filters.pii.pii import RedactPii
from barrow.corpus.mixture import Splits
from barrow.corpus.report.known_limits import known_limits
from barrow.corpus.report.totals import survey


def limits(manifest: dict[str, Any], recipe: Recipe) -> str:
    return "\n".join(known_limits(survey(manifest), recipe))


def test_what_the_manifest_says(told_manifest: dict[str, Any], told_recipe: Recipe) -> None:
    text = limits(told_manifest, told_recipe)
    assert "not here: books (no files that the reader 'epub' reads)." in text
    assert "6 raw files were not read" in text
    assert "The licence of 4 documents, 3.0 kB (4.6% of the text) is unknown." in text
    assert "The validation split has no document of Notes." in text
    assert "fewer than 80% of their shingles" in text
    assert "13 words in a row" in text
    assert "Letters (1.5 times) and Notes (1.5 times)" in text
    assert "No filter is set for Notes." in text
    assert "Nobody looked for personal data, which stays as in the sources, in all 2" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"deduplication": None}, "Nobody looked for duplicates"),
        ({"deduplication": Deduplication(near=False)}, "Only exact duplicates"),
        ({"decontamination": None}, "No evaluation set was given"),
        ({"splits": Splits()}, "There is no validation or test split."),
    ],
)
def test_what_was_not_done(
    change: dict[str, Any], words: str, told_manifest: dict[str, Any], told_recipe: Recipe
) -> None:
    assert words not in limits(told_manifest, told_recipe)
    assert words in limits(told_manifest, replace(told_recipe, **change))


def test_reserved_rights_and_unstated_languages(
    told_manifest: dict[str, Any], told_recipe: Recipe
) -> None:
    notes = told_manifest["splits"]["train"]["domains"]["Notes"]
    notes["licences"] = {"LicenseRef-all-rights-reserved": {"documents": 20, "bytes": 1_000}}
    notes["languages"] = {"None": {"documents": 20, "bytes": 1_000}}
    text = limits(told_manifest, told_recipe)
    assert "All rights are reserved in 20 documents, 1.0 kB (1.5% of the text)" in text
    assert "No language is stated for 20 documents" in text


def test_a_domain_that_was_lost(told_manifest: dict[str, Any], told_recipe: Recipe) -> None:
    del told_manifest["splits"]["train"]["domains"]["Notes"]
    assert "no document is left, of Notes." in limits(told_manifest, told_recipe)


def test_long_lists_are_cut(told_manifest: dict[str, Any], told_recipe: Recipe) -> None:
    told_manifest["missing"] = {f"folder{n}": "no files" for n in range(200)}
    text = limits(told_manifest, told_recipe)
    assert "folder11 (no files) and 188 more." in text


def test_nothing_at_all(empty_manifest: dict[str, Any]) -> None:
    recipe = Recipe("nothing", {"a": Domain("A", PlainText())})
    assert "There is no validation or test split." in limits(empty_manifest, recipe)


def test_personal_data_of_some_domains(told_manifest: dict[str, Any], told_recipe: Recipe) -> None:
    notes = Domain("Notes", PlainText(), filters=(RedactPii(),))
    domains = {**told_recipe.domains, "notes": notes}
    text = limits(told_manifest, replace(told_recipe, domains=domains))
    assert "stays as in the sources, in Letters." in text
    assert "names of people stay" in text
