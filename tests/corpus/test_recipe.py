from __future__ import annotations

import pytest

from barrow import config
from barrow.corpus import Domain, PlainText, Recipe
from barrow.errors import ConfigError


def test_a_recipe_is_saved_and_read_back(recipe: Recipe) -> None:
    assert config.from_json(Recipe, config.to_json(recipe)) == recipe


def test_overrides_reach_domains(recipe: Recipe) -> None:
    changed = config.override(recipe, ["domains.letters.epochs=1.5", "missing=skip"])
    assert changed.domains["letters"].epochs == 1.5
    assert changed.missing == "skip"
    with pytest.raises(ConfigError, match="did you mean 'letters'"):
        config.override(recipe, ["domains.leters.epochs=1"])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Domain("A", PlainText(), weight=-1), "weight must be ≥ 0"),
        (lambda: Domain("A", PlainText(), epochs=-1), "epochs must be ≥ 0"),
        (lambda: Domain("A", PlainText(), retrieved="yesterday"), "must be a day as"),
        (lambda: Recipe("r", {}), "no domains"),
        (
            lambda: Recipe(
                "r", {"a": Domain("A", PlainText()), "b": Domain("A", PlainText(), epochs=2)}
            ),
            "different weights or epochs",
        ),
        (
            lambda: Recipe("r", {"a": Domain("A", PlainText())}, shard_size=0),
            "shard_size must be > 0",
        ),
        (
            lambda: Recipe("r", {"a": Domain("A", PlainText())}, max_text=0),
            "max_text must be > 0",
        ),
    ],
)
def test_wrong_settings(make, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make()
