from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import typer
import zstandard

import barrow as package
from barrow import config
from barrow.cli.recipe import keys_of, load_recipe, of_sources, resolve
from barrow.corpus import C4, ByLanguage, GopherQuality, Recipe
from barrow.corpus.report.portable_recipe import recipe_hash
from barrow.errors import ConfigError
from barrow.recipes import pile, refine

PROSE = (
    "The {0} barrow on the hill is older than the church and older than the road. We measured it "
    "with a rope of {0} knots, and that took us the whole of a Sunday in {0}. It is sixty paces "
    "from end to end. At the eastern side there are three stones, and one of them has a {0} cut "
    "into it. Nobody in the village could tell us who made it. The farmer ploughs around it, as "
    "his father did, and his father before him, who called it the {0}."
)


def texts(*names: str) -> list[str]:
    return [PROSE.format(name) for name in names]


def lines(records: list[dict]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def the_domain(recipe: Recipe, *changed: str, language: str | None = None):
    (domain,) = resolve(recipe, changed, language).domains.values()
    return domain


def test_the_settings_of_the_only_domain_are_named_without_it() -> None:
    """PILE-8: filters are switched and set from the command line."""
    made = the_domain(
        refine.recipe(), "filters.C4=off", "filters.GopherQuality.min_words=30", "reader.domain=Web"
    )
    assert [type(step).__name__ for step in made.filters] == [
        *("Repair", "Length", "GopherQuality", "GopherRepetition", "FineWeb")
    ]
    assert GopherQuality(min_words=30) in made.filters
    assert made.reader.domain == "Web"
    named = resolve(refine.recipe(), ["seed=7", "name=x", "domain=Web"], None)
    assert (named.seed, named.name, the_domain(named).name) == (7, "x", "Web")
    with pytest.raises(ConfigError, match="no setting 'filters'"):
        resolve(pile.recipe(), ["filters.C4=off"], None)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("text_key=content", "no setting 'text_key'; did you mean 'reader.text_key'"),
        ("sample=0.1", "did you mean 'reader.sample'"),
        ("reader.sample=0", "sample must be > 0 and ≤ 1, got 0.0"),
        ("filters.GopherQualty.min_words=3", "unknown element 'GopherQualty'"),
        ("seed", "expected key=value, got 'seed'"),
    ],
)
def test_wrong_settings(wrong: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        resolve(refine.recipe(), [wrong], None)


def test_filters_are_changed_before_the_rules_of_a_language() -> None:
    made = the_domain(
        refine.recipe(), "filters.C4=off", "filters.ByLanguage.budget=1", language="auto"
    )
    (rules,) = [step for step in made.filters if isinstance(step, ByLanguage)]
    assert rules.budget == 1
    assert C4() not in rules.filters
    assert GopherQuality() in rules.filters


def test_epochs_set_the_mixture_unless_it_is_set() -> None:
    assert resolve(refine.recipe(), ["epochs=0.5"], None).mixture.by == "epochs"
    assert resolve(refine.recipe(), ["epochs=2", "mixture.by=once"], None).mixture.by == "once"
    assert resolve(refine.recipe(), [], None).mixture.by == "once"
    assert resolve(pile.recipe(), ["mixture.by=once", "seed=1"], None).mixture.by == "once"


def test_every_key_has_a_meaning() -> None:
    rows = list(keys_of(refine.recipe()))
    assert {"reader.id_key", "epochs", "filters.C4", "splits.test", "shard_size"} <= {
        key for key, *_ in rows
    }
    assert [key for key, _, said in rows if not said] == []


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in (
        "a/1.jsonl",
        "a/2.jsonl",
        "a/b/3.jsonl.gz",
        "a/notes.txt",
        "c/4.json.gz",
        "d[1].jsonl",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.touch()
    return tmp_path


def chosen(files: Path, *sources: str) -> tuple[Path, dict[str, tuple[str, ...]]]:
    made, root = of_sources(refine.recipe(), [str(files / source) for source in sources])
    return root.relative_to(files), {name: d.paths for name, d in made.domains.items()}


def test_files_folders_and_patterns(files: Path) -> None:
    here = Path()
    assert chosen(files, "a/1.jsonl") == (Path("a"), {".": ("1.jsonl",)})
    assert chosen(files, "a/*.jsonl") == (Path("a"), {".": ("1.jsonl", "2.jsonl")})
    assert chosen(files, "a") == (Path("a"), {".": ()})
    assert chosen(files, "a", "c") == (here, {"a": (), "c": ()})
    assert chosen(files, "c", "a/*.jsonl") == (here, {".": ("a/1.jsonl", "a/2.jsonl"), "c": ()})
    assert chosen(files, "a", "a/b", "a/b/3.jsonl.gz") == (Path("a"), {".": ()}), "once"
    both = chosen(files, "a", "a/notes.txt")[1]["."]
    assert both[0] == "notes.txt"
    assert "**/*.jsonl" in both
    (files / "c" / "archive.json").touch()
    assert chosen(files, "c") == (Path("c"), {".": ("*.jsonl.zst",)}), "the shards of an archive"
    assert chosen(files, "d[1].jsonl") == (here, {".": ("d[[]1].jsonl",)}), "it exists"
    assert chosen(files, "**/*.jsonl")[1]["."] == ("a/1.jsonl", "a/2.jsonl", "d[[]1].jsonl")


def test_sources_that_do_not_exist(files: Path) -> None:
    with pytest.raises(typer.BadParameter, match=r"no file matches '.*/a/\*\.parquet'"):
        chosen(files, "a/*.jsonl", "a/*.parquet")
    with pytest.raises(typer.BadParameter, match="none.jsonl does not exist"):
        chosen(files, "none.jsonl")
    with pytest.raises(typer.BadParameter, match="has 22: pass --root DIR"):
        of_sources(pile.recipe(), [str(files)])


def test_refine_from_the_command_line(barrow: Callable, tmp_path: Path) -> None:
    """PILE-8: records of other people, in all their forms, by patterns, files and folders."""
    source = tmp_path / "data"
    (source / "more").mkdir(parents=True)

    def records(*names: str) -> list[dict]:
        return [
            {"content": text, "doc": {"id": f"own-{name}"}}
            for name, text in zip(names, texts(*names), strict=True)
        ]

    (source / "a.jsonl").write_bytes(lines(records("oak", "elm")))
    (source / "b.jsonl.gz").write_bytes(gzip.compress(lines(records("ash"))))
    (source / "c.jsonl.zst").write_bytes(zstandard.compress(lines(records("yew"))))
    table = pyarrow.Table.from_pylist(records("fir"))
    pyarrow.parquet.write_table(table, source / "more" / "d.parquet")
    blob = tmp_path / "blob"
    blob.write_bytes(gzip.compress(lines(records("bay"))))
    (tmp_path / "e.json.gz").symlink_to(blob)  # as in a cache of downloads
    (source / "more" / "README.md").write_text("not a record")
    named = ("reader.text_key=content", "reader.id_key=doc.id", "reader.domain=Trees")
    code, out, err = barrow(
        *("build", "refine", "--source", source / "*.jsonl*", "--source", source / "more"),
        *("--source", tmp_path / "e.json.gz", "--out", tmp_path / "out", "--workers", 0),
        *("deduplication=null", "splits.test=0", "splits.validation=0", *named),
    )
    assert code == 0, err
    assert "5 files" in out
    found = {d.meta["record.id"]: d for d in package.archive.open(tmp_path / "out")}
    assert {name: d.text for name, d in found.items()} == {
        f"own-{name}": PROSE.format(name) for name in ("oak", "elm", "ash", "yew", "fir", "bay")
    }
    assert {d.meta["pile_set_name"] for d in found.values()} == {"Trees"}
    assert found["own-fir"].meta["source"] == "data/more/d.parquet"
    assert found["own-bay"].meta["source"] == "e.json.gz"
    code, out, _ = barrow("corpus", "trace", tmp_path / "out", "own-yew")
    assert (code, "c.jsonl.zst" in out) == (0, True)

    # A corpus as a source is its training set, without rejects, manifest and the other splits.
    code, out, err = barrow(
        *("build", "refine", "--source", tmp_path / "out", "--out", tmp_path / "again"),
        *("--workers", 0, "deduplication=null", "splits.test=0", "splits.validation=0"),
        *("epochs=2", "filters.Length.min_bytes=600"),
    )
    assert code == 1
    assert "6 too-few-bytes" in err
    assert "no-text" not in err


def test_files_that_the_shell_expanded(barrow: Callable, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).touch()
    code, _, err = barrow(
        "build", "refine", "--source", tmp_path / "a", tmp_path / "b", "--out", "x"
    )
    assert code == 2
    assert f"{tmp_path / 'b'} is not KEY=VALUE; name each file, as --source" in err


def test_show(barrow: Callable) -> None:
    code, out, _ = barrow("build", "refine", "--show", "filters.C4=off", "reader.text_key=body")
    assert code == 0
    rows = {line.split()[0]: line.split()[1] for line in out.splitlines() if line[:1].strip()}
    assert rows["reader.text_key"] == '"body"'
    assert "filters.C4" not in rows
    assert rows["filters.GopherRepetition.max_repeated_paragraph_characters"] == "0.2"


def test_a_recipe_that_was_changed_is_not_built_from(tmp_path: Path) -> None:
    """The manifest beside it has its hash; one of an earlier version has none."""
    recipe, manifest = tmp_path / "recipe.json", tmp_path / "manifest.json"
    made = load_recipe("permissive")
    recipe.write_text(config.to_json(made))
    manifest.write_text(json.dumps({"recipe_sha256": recipe_hash(made)}))
    assert load_recipe(str(recipe)) == made
    recipe.write_text(config.to_json(replace(made, seed=made.seed ^ 1)))
    with pytest.raises(ConfigError, match="not the recipe that manifest.json names: it was chang"):
        load_recipe(str(recipe))
    recipe.rename(tmp_path / "mine.json")
    assert load_recipe(str(tmp_path / "mine.json")).seed == made.seed ^ 1
    with pytest.raises(ConfigError, match="not the recipe"):
        load_recipe(str(recipe))
    manifest.write_text("{}")
    (tmp_path / "mine.json").rename(recipe)
    assert load_recipe(str(recipe)).seed == made.seed ^ 1
