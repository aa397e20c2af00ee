from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barrow.corpus.report.reject_samples import Sample
from barrow.corpus.report.rejects import found_inside, rejects
from barrow.corpus.report.totals import survey


def test_reasons_come_with_samples(told_manifest: dict[str, Any], read_page: Callable) -> None:
    samples = {
        ("read", "empty"): (
            Sample("Letters", "letters/a.txt", "no text", ""),
            Sample("Notes", "", "no text", "<b>bold</b>\n  indented"),
        )
    }
    made = rejects(survey(told_manifest), samples)
    page = read_page(made)
    assert "65 for 7 reasons." in page.text
    assert "emptyreading25In Letters 25.Letters · no textletters/a.txtNo text.Notes" in page.text
    assert "<b>bold</b>\n  indented" in page.text
    assert page.text.count("No sample was kept.") == 6
    summaries = [part.partition("</bdi>")[0] for part in made.split('"labelled"><bdi>')[1:]]
    assert summaries == [
        *("empty", "duplicate", "too-few-bytes", "near-duplicate", "not-drawn", "not-text"),
        "contaminated",
    ]
    # A text may run from right to left; what stands around it does not follow.
    assert ("pre", "dir", "auto") in page.attributes


def test_no_rejects(empty_manifest: dict[str, Any]) -> None:
    assert "Nothing." in rejects(survey(empty_manifest), {})


def test_what_was_found_in_texts(told_manifest: dict[str, Any], read_page: Callable) -> None:
    page = read_page(found_inside(survey(told_manifest)))
    assert page.tables["Found in texts, by category"][1][:2] == ["email", "12"]
    assert page.tables["Documents with evaluation data"][1] == ["Letters", "quiz.jsonl", "2"]
    letters = told_manifest["stages"]["Letters"]["filter"]
    letters["found"] = letters["matches"] = {}
    assert found_inside(survey(told_manifest)) == ""


def test_personal_data_is_not_shown(told_manifest: dict[str, Any]) -> None:
    told_manifest["stages"]["Letters"]["filter"]["rejects"] = {"pii-email": 10}
    samples = {("filter", "pii-email"): (Sample("Letters", "a", "11 times", "jo@example.org"),)}
    made = rejects(survey(told_manifest), samples)
    assert "jo@example.org" not in made
    assert "Not shown here: it is personal data." in made
