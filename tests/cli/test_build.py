from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import barrow as package

RECIPE = """
from barrow.corpus import Domain, PlainText, Recipe

def recipe():
    domains = {"texts": Domain("Texts", PlainText()), "more": Domain("More", PlainText())}
    return Recipe("mine", domains)
"""


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    root = tmp_path / "raw"
    (root / "texts").mkdir(parents=True)
    for n in range(5):
        (root / "texts" / f"{n}.txt").write_text(f"text number {n}")
    (root / "texts" / "empty.txt").touch()
    (tmp_path / "mine.py").write_text(RECIPE)
    return root


def test_build_look_and_compare(barrow: Callable, raw: Path, tmp_path: Path) -> None:
    out, recipe = tmp_path / "out", tmp_path / "mine.py"
    code, text, err = barrow("build", recipe, "--root", raw, "--out", out, "--workers", 0)
    assert code == 1
    assert "more: no files" in err
    arguments = ("--workers", 0, "--missing", "skip")
    new = tmp_path / "new"
    code, text, err = barrow("build", recipe, "--root", raw, "--out", new, "--dry-run", *arguments)
    assert (code, err, new.exists()) == (0, "", False)
    assert "6 of 6 files are new or changed" in text
    assert "left out: more" in text
    code, text, err = barrow("build", recipe, "--root", raw, "--out", out, *arguments)
    assert code == 0
    assert [line.split()[:3] for line in err.splitlines()[:2]] == [
        ["Hashing", "6", "tasks,"],
        ["Reading", "1", "task,"],
    ]
    code, text, err = barrow("build", recipe, "--root", raw, "--out", out, *arguments)
    assert "Reading               1 task, 1 from the cache" in err.splitlines()
    code, plan, _ = barrow(
        "build", recipe, "--root", raw, "--out", out, "--dry-run", "--json", *arguments
    )
    assert (code, json.loads(plan)["is_done"]) == (0, True)
    assert "Texts" in text
    assert "1 empty" in text
    assert "left out: more" in text
    assert len(package.archive.open(out)) == 5

    code, text, _ = barrow("corpus", "rejects", out)
    assert (code, text.split()) == (0, ["1", "Texts:", "empty"])
    assert "texts/empty.txt" in barrow("corpus", "rejects", out, "--reason", "empty").out
    assert json.loads(barrow("corpus", "rejects", out, "--json").out) == [
        {"domain": "Texts", "reason": "empty", "count": 1}
    ]

    wanted = next(d for d in package.archive.open(out) if d.meta["source"] == "texts/3.txt")
    code, text, _ = barrow("corpus", "trace", out, wanted.meta["id"])
    assert code == 0
    assert "texts/3.txt" in text
    assert "plain_text/2" in text
    story = json.loads(barrow("corpus", "trace", out, "3", "--json").out)
    assert (story["text"], story["number"]) == (package.archive.open(out)[3].text, 3)
    assert barrow("corpus", "trace", out, "nothing").code == 1

    again = tmp_path / "again"
    saved = out / "recipe.json"
    code, text, _ = barrow(
        "build",
        saved,
        "--root",
        raw,
        "--out",
        again,
        "--workers",
        0,
        "domains.texts.epochs=2",
        "--json",
    )
    assert code == 0
    assert json.loads(text)["reading"]["texts"]["documents"] == 5
    assert json.loads(text)["times"]["stages"][1]["stage"] == "Reading"
    code, text, _ = barrow("corpus", "diff", out, again)
    assert "recipe: domains.texts.epochs: None → 2.0" in text
    assert "recipe: mixture.by: 'once' → 'epochs'" in text
    assert "Texts: 5 kept, 5 added, 0 removed" in text
    assert barrow("corpus", "diff", out, out).out.endswith("no difference\n")
    assert (
        json.loads(barrow("corpus", "diff", out, again, "--json").out)["domains"]["Texts"]["kept"]
        == 5
    )
    assert barrow("verify", out, "--deep").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["pil", "--root", "x", "--out", "y"], 2, "did you mean 'pile'"),
        (["pile", "--out", "y"], 2, "--root DIR"),
        (["pile", "--root", "x"], 2, "--out DIR"),
        (["pile", "--root", "x", "--out", "y", "domains.arxv.epochs=2"], 1, "did you mean 'arxiv'"),
        (["pile", "--root", "/no/such", "--out", "y"], 1, "not a folder of raw files"),
        (["pile", "--root", "x", "--out", "y", "--engine", "slurm"], 2, "slurm"),
    ],
)
def test_wrong_usage(arguments: list[str], code: int, words: str, barrow: Callable) -> None:
    result = barrow("build", *arguments)
    assert result.code == code
    assert words in result.err
    assert result.err.count("\n") == 1


def test_a_python_file_without_a_recipe(barrow: Callable, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("recipe = 3")
    code, _, err = barrow("build", tmp_path / "x.py", "--root", "a", "--out", "b")
    assert code == 2
    assert "no function recipe()" in err


def test_a_build_that_keeps_nothing_says_so(barrow: Callable, raw: Path, tmp_path: Path) -> None:
    short = 'domains.texts.filters=[{"object": "barrow.corpus:Length", "min_bytes": 1000}]'
    arguments = [tmp_path / "mine.py", "--root", raw, "--out", tmp_path / "out", short]
    code, out, err = barrow("build", *arguments, "--missing", "skip", "--workers", 0)
    assert code == 1
    assert err.splitlines()[-1] == (
        "no document was kept: 5 too-few-bytes, 1 empty; barrow corpus rejects shows examples"
    )
    assert "Texts" in out
    assert barrow("corpus", "rejects", tmp_path / "out").code == 0
    code, out, err = barrow("build", *arguments, "--missing", "skip", "--workers", 0, "--json")
    assert (code, json.loads(out)["recipe"]) == (1, "mine")


def test_recipes_that_help_names_are_all_there_are(barrow: Callable) -> None:
    err = barrow("build", "zzz", "--root", "x", "--out", "y").err
    assert "there are permissive, pile, pocket, refine" in err
    assert "(permissive, pile, pocket, refine)" in " ".join(barrow("build", "--help").out.split())


def test_overrides_of_readers_and_filters(barrow: Callable, raw: Path, tmp_path: Path) -> None:
    filters = 'domains.texts.filters=[{"object": "barrow.corpus:Length"}, "barrow.corpus:Repair"]'
    code, _, err = barrow(
        *("build", tmp_path / "mine.py", "--root", raw, "--out", tmp_path / "out", filters),
        *("domains.texts.filters.Length.min_bytes=3", "domains.texts.filters.0.max_bytes=99"),
        *("domains.texts.reader.max_bytes=1000", "--missing", "skip", "--workers", 0),
    )
    assert code == 0, err
    saved = json.loads((tmp_path / "out" / "recipe.json").read_text())["domains"]["texts"]
    length = {"object": "barrow.corpus:Length", "min_bytes": 3, "max_bytes": 99}
    assert saved["filters"] == [length, {"object": "barrow.corpus:Repair", "normal_form": None}]
    assert saved["reader"] == {"object": "barrow.corpus:PlainText", "max_bytes": 1000}


def test_rejects_of_what_is_no_build(barrow: Callable, tmp_path: Path) -> None:
    code, _, err = barrow("corpus", "rejects", tmp_path)
    assert code == 1
    assert "made by barrow build" in err


def test_training_runs_are_no_corpora(barrow: Callable, tmp_path: Path) -> None:
    code, _, err = barrow("build", "gpt2", "--root", tmp_path, "--out", tmp_path / "out")
    assert code == 2
    assert "there is no recipe 'gpt2'" in err
    assert "llama" not in err


def test_rules_by_language(barrow: Callable, tmp_path: Path) -> None:
    """PILE-8: --language auto keeps German prose that the rules for English reject, and counts."""
    german = (
        "Unter dem Hügel lag ein Dorf, das seit vielen Jahren niemand mehr gesehen hat. Die alten "
        "Leute erzählten uns, dass es dort Märkte und Musik gegeben habe. Im Winter versperrte der "
        "Schnee die Straße, und wer dort wohnte, musste auf den Frühling warten. Einmal kam ein "
        "Fremder zu Fuß. Er bat um Brot, und sie gaben ihm auch ein Bett. Als er ging, schrieb er "
        "ihnen einen Brief, um sich für alles zu bedanken, was sie für ihn getan hatten."
    )
    menu = "Startseite\nÜber uns\nProdukte\nPreise\nKontakt\nAnmelden\nWarenkorb\nSuche\n" * 3
    icelandic = "Undir hæðinni var þorp sem enginn hefur séð í mörg ár og fólkið sagði frá. " * 9
    texts = (german, menu, icelandic)
    source = tmp_path / "pages.jsonl"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    arguments = ("build", "refine", "--source", source, "--workers", 0)
    code, out, err = barrow(*arguments, "--out", tmp_path / "a", "--language", "auto")
    assert code == 0, err
    assert [line.split() for line in out.splitlines()[-3:]] == [
        ["language", "read", "kept", "rules"],
        ["de", "2", "1", "own"],
        ["is", "1", "0", "neutral"],
    ]
    assert barrow(*arguments, "--out", tmp_path / "b").code == 1, "the rules for English keep none"
    code, _, err = barrow(*arguments, "--out", tmp_path / "c", "--language", "xx")
    assert code == 1
    assert "language must be 'auto' or one of af, ar," in err


def test_copies_are_shown_apart_and_no_row_is_without_a_name(
    barrow: Callable, raw: Path, tmp_path: Path
) -> None:
    arguments = ("--missing", "skip", "--workers", 0)
    epochs = ("mixture.by=epochs", "domains.texts.epochs=3")
    out = barrow(
        "build", tmp_path / "mine.py", "--root", raw, "--out", tmp_path / "a", *epochs, *arguments
    ).out
    header, *rows = [line.split() for line in out.splitlines() if line.strip()]
    assert header[:6] == ["domain", "files", "read", "kept", "copies", "bytes"]
    assert next(row for row in rows if row[0] == "Texts")[1:5] == ["6", "5", "5", "10"]

    folder = tmp_path / "records"
    folder.mkdir()
    record = {"text": "One text of some words. " * 9, "meta": {"pile_set_name": "Notes"}}
    source = folder / "records.jsonl"
    source.write_text(json.dumps(record) + "\n{bad\n")
    refine = ("build", "refine", "--source", source, "--workers", 0, "splits.test=0")
    out = barrow(*refine, "--out", tmp_path / "b").out
    assert "copies" not in out, "no document is written twice"
    assert not [line for line in out.splitlines() if line.startswith("  ")]
    assert "1 file; rejected while reading: 1 not-json" in out
    first = (tmp_path / "b" / "manifest.json").read_bytes()
    (folder / "unrelated.txt").write_text("something else")
    barrow(*refine, "--out", tmp_path / "c")
    assert (tmp_path / "c" / "manifest.json").read_bytes() == first


def test_a_recipe_cannot_name_a_function_of_barrow(
    barrow: Callable, raw: Path, tmp_path: Path
) -> None:
    """A function that writes its second argument to its first, as a filter's function."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (raw / "texts" / "a.jsonl").write_text(
        json.dumps({"text": str(victim), "meta": {}, "note": "\ntouch PWNED\n"}) + "\n"
    )
    function = {"object": "barrow.weights:write_flax"}
    domain = {
        "name": "Texts",
        "reader": {"object": "barrow.corpus:Records"},
        "filters": [{"object": "barrow.corpus:Where", "function": function}],
    }
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps({"name": "theirs", "domains": {"texts": domain}}))
    code, _, err = barrow("build", recipe, "--root", raw, "--out", tmp_path / "out")
    assert code == 1
    assert "write_flax is not a Callable" in err
    assert len(err.splitlines()) == 1
    assert victim.read_text() == "mine"
    assert not (tmp_path / "out").exists()
