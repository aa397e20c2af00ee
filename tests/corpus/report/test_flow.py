from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from barrow.corpus import Recipe
from barrow.corpus.report.flow import duplicates, flow, reasons
from barrow.corpus.report.totals import survey


def test_what_each_step_cost(told_manifest: dict[str, Any], read_page: Callable) -> None:
    page = read_page(flow(survey(told_manifest)))
    assert "140 foundin 119 raw files" in page.text
    assert "Reading110 became documents−30 (21.4%) empty 25, not-text 5" in page.text
    assert "Filters100 stayed−10 (9.1%) too-few-bytes 8, contaminated 2" in page.text
    assert "Mixture75 are taken−5 (6.2%) not-drawn 5" in page.text
    assert "85 written66.0 kB of text, 10 of them repeats" in page.text
    assert page.tables["What each step cost, by domain and reason"][1:] == [
        ["Letters", "Reading", "130", "30", "23.1%", "5"],
        ["Letters", "Filters", "100", "10", "10.0%", "2"],
        ["Letters", "Deduplication", "90", "20", "22.2%", "5"],
        ["Letters", "Mixture", "70", "5", "7.1%", "5"],
    ]


def test_nothing_dropped(told_manifest: dict[str, Any], read_page: Callable) -> None:
    for part in (told_manifest["reading"], told_manifest["stages"]):
        for key in [key for key in part if "etters" in key]:
            del part[key]
    for split in told_manifest["splits"].values():
        split["domains"].pop("Letters")
    page = read_page(flow(survey(told_manifest)))
    assert page.text.count("dropped nothing") == 4
    assert "Nothing was dropped anywhere." in page.text


def test_many_reasons(read_page: Callable) -> None:
    made = reasons({f"r{n}": 10 - n for n in range(5)}, most=2)
    assert read_page(made).text == "r0 10, r1 9 and 3 more reasons 21"


def test_copies(told_manifest: dict[str, Any], told_recipe: Recipe, read_page: Callable) -> None:
    page = read_page(duplicates(survey(told_manifest), told_recipe))
    (rows,) = page.tables.values()
    assert rows[1:] == [
        ["Letters", "15", "5", "22.2%", "20000", "1000"],
        ["All", "15", "5", "20.0%", "20000", "1000"],
    ]
    assert "1 domains had none" in page.text
    none = replace(told_recipe, deduplication=None)
    assert "Nobody looked" in duplicates(survey(told_manifest), none)
    told_manifest["stages"]["Letters"]["deduplicate"] = {"documents": 90, "bytes": 0, "rejects": {}}
    assert "There were none." in duplicates(survey(told_manifest), told_recipe)
