from __future__ import annotations

import sysconfig
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from tests.samples.articles import real_articles
from tests.samples.table import SAMPLES

import barrow
from barrow import config
from barrow.corpus import Recipe, build
from barrow.corpus.arithmetic import MODULES, problems
from barrow.engine import Engine
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


def test_it_builds_from_raw_files_of_every_format(tmp_path: Path) -> None:
    """PILE-1, PILE-6: few documents in each of the 22 domains; one of each at least is kept."""
    made = {type(sample.reader): sample for sample in SAMPLES}
    articles = real_articles(size=1000)
    recipe = pile.recipe()
    library = Path(sysconfig.get_path("stdlib"))
    files: dict[str, bytes] = {
        **{f"github/library/{n}.py": (library / f"{n}.py").read_bytes() for n in ("abc", "bisect")},
        "dm_mathematics/train-easy/made.txt": "".join(
            f"{question}\n{answer}\n" for question, answer in problems(MODULES[0], 0, 400)
        ).encode(),
    }
    for folder, domain in recipe.domains.items():
        if type(domain.reader) in made:
            for name, data in made[type(domain.reader)].files(islice(articles, 5)):
                files[f"{folder}/{name}"] = data
    for name, data in files.items():
        path = tmp_path / "raw" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    out = tmp_path / "out"
    build(recipe, root=tmp_path / "raw", out=out, engine=Engine(num_workers=0))
    found = Counter(document.meta["pile_set_name"] for document in barrow.archive.open(out))
    assert set(found) == {domain.name for domain in recipe.domains.values()}
    assert sum(found.values()) > 100
