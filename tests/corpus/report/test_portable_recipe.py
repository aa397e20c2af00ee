from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from barrow import config
from barrow.corpus import Domain, PlainText, Recipe
from barrow.corpus.filters.rules import UrlRule
from barrow.corpus.report.portable_recipe import portable_json, recipe_hash


def test_folders_are_left_out(told_recipe: Recipe) -> None:
    rule = UrlRule(deny_files=(Path("/somewhere/hosts.txt"),))
    domain = Domain("Web", PlainText(), filters=(rule,))
    shown = portable_json(replace(told_recipe, domains={"web": domain}))
    assert "/somewhere" not in shown
    saved = json.loads(shown)
    assert saved["decontamination"]["sets"] == ["quiz.jsonl"]
    assert saved["deduplication"]["against"] == ["older"]
    assert saved["domains"]["web"]["filters"][0]["deny_files"] == ["hosts.txt"]


def test_nothing_else_changes(recipe: Recipe) -> None:
    assert portable_json(recipe) == config.to_json(recipe)


def test_the_hash_is_that_of_the_file(told_recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(config.to_json(told_recipe))
    expected = hashlib.sha256((tmp_path / "recipe.json").read_bytes()).hexdigest()
    assert recipe_hash(told_recipe) == expected
