from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from barrow.corpus import Recipe
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.mixture import Mixture
from barrow.corpus.report.datasheet_stages import stages
from barrow.corpus.report.totals import survey


def under(parts: list[str], heading: str) -> str:
    """What stands under a heading."""
    at = parts.index(f"### {heading}") + 1
    rest = [k for k, part in enumerate(parts) if k >= at and part.startswith("### ")]
    return "\n".join(parts[at : rest[0] if rest else None])


def test_every_stage(told_manifest: dict[str, Any], told_recipe: Recipe) -> None:
    parts = stages(survey(told_manifest), told_recipe)
    assert "| Letters | 130 | 100 | 100 kB | empty 25, not-text 5 |" in under(parts, "Reading")
    assert "| Notes | 10 | 10 | 500 B | – |" in under(parts, "Reading")
    filters = under(parts, "Filters")
    assert "- `Length`: Letters\n" in filters
    assert (
        "| Letters | 100 | 90 | 100 kB | 90.0 kB | 2 | too-few-bytes 8, contaminated 2 |" in filters
    )
    assert "| Letters | quiz.jsonl | 2 |" in under(parts, "Decontamination")
    found = under(parts, "Personal data")
    assert "| email | 12 | Letters 12 |" in found
    assert "| ip | 3 | Letters 3 |" in found
    assert "mojibake" not in found
    assert "| mojibake | 7 | Letters 7 |" in under(parts, "Other things counted in texts")
    copies = under(parts, "Deduplication")
    assert "| Letters | 90 | 70 | 90.0 kB | 70.0 kB | duplicate 15, near-duplicate 5 |" in copies
    assert "at least 80% of their shingles" in copies
    assert "count as kept: `older`." in copies
    mixture = under(parts, "Mixture")
    assert "| Letters | 1.5 | 70 | 65 | 65 | 65.0 kB | not-drawn 5 |" in mixture
    assert "| Notes | 1.5 | 10 | 10 | 20 | 1.0 kB | – |" in mixture


@pytest.mark.parametrize(
    ("change", "heading", "words"),
    [
        ({"deduplication": None}, "Deduplication", "None is set."),
        ({"deduplication": Deduplication(near=False)}, "Deduplication", "Exact duplicates"),
        (
            {"deduplication": Deduplication(keep="domain", prefer=("Letters",))},
            "Deduplication",
            "that of the preferred domain stays. Preferred: Letters.",
        ),
        ({"decontamination": None}, "Decontamination", "No evaluation set was given"),
        ({"mixture": Mixture()}, "Mixture", "Every document is taken once."),
        ({"mixture": Mixture(by="weight")}, "Mixture", "as their weights in the recipe need"),
    ],
)
def test_what_is_set(
    change: dict[str, Any],
    heading: str,
    words: str,
    told_manifest: dict[str, Any],
    told_recipe: Recipe,
) -> None:
    parts = stages(survey(told_manifest), replace(told_recipe, **change))
    assert words in under(parts, heading)


def test_no_domains(empty_manifest: dict[str, Any], recipe: Recipe) -> None:
    parts = stages(survey(empty_manifest), recipe)
    assert under(parts, "Filters") == "None is set.\nNone."
