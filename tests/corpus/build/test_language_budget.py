"""The removal budget of a language (PILE-8)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barrow.corpus.build.language_budget import check_languages
from barrow.corpus.filters.by_language import ByLanguage
from barrow.errors import BudgetExceeded
from barrow.recipes import refine


def counted(folder: Path, **counts: int) -> Any:
    """What a task of the examination counted: documents read (``de``) and kept (``de_kept``)."""
    tally = {
        f"languages_kept.{name[:-5]}" if name.endswith("_kept") else f"languages.{name}": number
        for name, number in counts.items()
    }
    path = folder / f"{len(list(folder.iterdir()))}.json"
    path.write_text(json.dumps({"Web": tally, "Books": {"rejects.empty": 3}}))
    return SimpleNamespace(counts=SimpleNamespace(path=path))


def test_no_language_loses_more_than_its_budget(tmp_path: Path) -> None:
    recipe = refine.recipe("auto")
    fine = [counted(tmp_path, de=100, de_kept=5), counted(tmp_path, de=100, de_kept=5)]
    check_languages(recipe, fine)
    lost = [*fine, counted(tmp_path, de=2, de_kept=0)]
    with pytest.raises(BudgetExceeded, match=r"192 of 202 documents in the language 'de'"):
        check_languages(recipe, lost)
    # The rules for English have no such budget.
    check_languages(refine.recipe(), lost)


def test_few_documents_and_neutral_rules_have_no_budget(tmp_path: Path) -> None:
    few = [counted(tmp_path, de=99, de_kept=0, und=500, und_kept=0, xx=500, xx_kept=0)]
    check_languages(refine.recipe("auto"), few)


def test_the_budget_is_a_setting(tmp_path: Path) -> None:
    recipe = refine.recipe("auto")
    (domain,) = recipe.domains.values()
    half, none = (
        replace(
            recipe,
            domains={".": replace(domain, filters=(ByLanguage(budget=budget),))},
        )
        for budget in (0.5, None)
    )
    lost = [counted(tmp_path, de=100, de_kept=40)]
    with pytest.raises(BudgetExceeded, match="more than the budget of 50%"):
        check_languages(half, lost)
    check_languages(none, lost)
