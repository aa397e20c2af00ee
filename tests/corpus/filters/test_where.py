"""A function from outside as a filter (PILE-8)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from barrow import archive, config
from barrow.corpus import Recipe, build
from barrow.corpus.filters.texts import Texts
from barrow.corpus.filters.where import Where
from barrow.corpus.kernels.scratch import Scratch
from barrow.engine import Engine
from barrow.errors import ConfigError

FILE = """
from barrow.corpus import Domain, Records, Recipe, Where

LEAST = 2

def is_liked(text, meta):
    return meta.get("score", 0) >= LEAST and "spam" not in text

def recipe():
    filters = (Where(is_liked, reason="not-liked"),)
    return Recipe("test", {"a": Domain("A", Records(), filters=filters)})
"""


def is_long(text: str, meta: dict[str, Any]) -> bool:
    return len(text) > meta["least"]


def test_decisions() -> None:
    rules = Where(is_long)
    texts = Texts.of_strings(["four", "nine letters", "éééé"], [{"least": 4}] * 3, Scratch())
    assert rules.decide(texts).code.tolist() == [1, 0, 1]
    assert rules.reasons == ("not-wanted",)
    assert rules.cause("not-wanted", 0.0) == "is_long is not true of it"


def test_a_function_in_a_recipe_file(tmp_path: Path) -> None:
    """Saved by name, and examined again after an edit."""
    (tmp_path / "raw" / "a").mkdir(parents=True)
    rows = [{"text": f"text {n}", "meta": {"score": n}} for n in range(4)]
    rows.append({"text": "spam", "meta": {"score": 9}})
    lines = "\n".join(map(json.dumps, rows)) + "\n"
    (tmp_path / "raw" / "a" / "a.jsonl").write_text(lines)
    path, out = tmp_path / "mine.py", tmp_path / "out"
    kept = {}
    for least in (2, 3):
        path.write_text(FILE.replace("LEAST = 2", f"LEAST = {least}"))
        recipe = config.import_file(path).recipe()
        engine = Engine(num_workers=0)
        manifest = build(recipe, root=tmp_path / "raw", out=out, engine=engine)
        kept[least] = sorted(document.text for document in archive.open(out))
    assert kept == {2: ["text 2", "text 3"], 3: ["text 3"]}
    assert manifest["stages"]["A"]["filter"]["rejects"] == {"not-liked": 4}
    saved = (out / "recipe.json").read_text()
    assert "mine.py:is_liked" in saved
    with pytest.raises(ConfigError, match="mine.py"):
        config.from_json(Recipe, saved)
    assert config.from_json(Recipe, saved, trust=[str(path)]) == recipe


def test_a_lambda_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="define it at the top level of a module"):
        config.to_json(Where(lambda text, meta: True))
