from __future__ import annotations

import pytest

from barrow import config
from barrow.corpus import Recipe
from barrow.recipes import pile


def test_the_published_table() -> None:
    """PILE-1: 22 domains; weights and epochs as the paper has them."""
    recipe = pile.recipe()
    assert len(recipe.domains) == 22
    assert sum(d.weight or 0 for d in recipe.domains.values()) == pytest.approx(100, abs=0.1)
    assert recipe.domains["wikipedia_en"].epochs == 3.0
    assert recipe.domains["pile_cc"].weight == 18.11
    assert list(recipe.domains) == [
        *("pile_cc", "pubmed_central", "books3", "openwebtext2", "arxiv", "github", "freelaw"),
        *("stackexchange", "uspto", "pubmed_abstracts", "gutenberg", "opensubtitles"),
        *("wikipedia_en", "dm_mathematics", "ubuntu_irc", "bookcorpus2", "europarl"),
        *("hackernews", "youtube_subtitles", "philpapers", "nih_exporter", "enron_emails"),
    ]


def test_names_are_those_of_the_pile() -> None:
    names = {domain.name for domain in pile.recipe().domains.values()}
    assert {"Pile-CC", "Github", "Gutenberg (PG-19)", "Wikipedia (en)", "NIH ExPorter"} <= names
    assert len(names) == 22


def test_it_is_saved_and_read_back() -> None:
    recipe = pile.recipe()
    assert config.from_json(Recipe, config.to_json(recipe)) == recipe
