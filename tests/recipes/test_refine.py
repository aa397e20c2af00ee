from __future__ import annotations

from barrow import config
from barrow.corpus import C4, ByLanguage, FineWeb, GopherQuality, GopherRepetition, Recipe
from barrow.recipes import refine


def test_web_filters_are_for_web_text() -> None:
    """PILE-8: nobody runs Gopher on code."""
    (domain,) = refine.recipe().domains.values()
    assert domain.name == "", "documents name their own domain"
    assert GopherQuality() in domain.filters
    assert domain.filters_of["Github"] == ()
    assert GopherQuality() not in domain.filters_of["FreeLaw"]
    assert not {"Pile-CC", "OpenWebText2"} & domain.filters_of.keys()


def test_it_is_saved_and_read_back() -> None:
    recipe = refine.recipe()
    assert config.from_json(Recipe, config.to_json(recipe)) == recipe


def test_rules_by_language() -> None:
    (domain,) = refine.recipe("auto").domains.values()
    rules = ByLanguage((GopherQuality(), GopherRepetition(), C4(), FineWeb()))
    assert domain.filters[-1] == rules
    assert len(domain.filters) == 3
    recipe = refine.recipe("de")
    assert config.from_json(Recipe, config.to_json(recipe)) == recipe
