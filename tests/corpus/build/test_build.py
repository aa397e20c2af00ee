from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.killed import killed_at

import barrow
from barrow import config
from barrow.corpus import Domain, GitHub, Latex, PlainText, Recipe, Records, Warc, build
from barrow.corpus.dedup.settings import Deduplication
from barrow.corpus.filters.language import Language
from barrow.corpus.mixture import Splits
from barrow.engine import Engine, Progress
from barrow.errors import ConfigError, MissingExtra, NotFound
from barrow.files import locked

INLINE = Engine(num_workers=0)


def test_wrong_bytes_are_counted(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    """PILE-5: a damaged file says in its provenance how much of it was replaced."""
    (root / "notes" / "00.txt").write_bytes(
        "Grüße. ".encode() * 900 + b"\xff \xfe" + "é".encode()[:1]
    )
    build(recipe, root=root, out=tmp_path / "out", engine=INLINE)
    archive = barrow.archive.open(tmp_path / "out")
    counts = {d.meta["source"]: d.meta.get("replacement_characters") for d in archive}
    assert counts.pop("notes/00.txt") == 3
    assert set(counts.values()) == {None}


def test_the_language_is_the_one_identified(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    """PILE-8: a recipe's language is only assumed; a filter that looks knows better."""
    (root / "notes" / "de.txt").write_text("Der Hund schläft unter dem großen Tisch. " * 9)
    (root / "notes" / "01.txt").write_text("12 13 14 15")
    plain = recipe.domains["notes"]
    out = tmp_path / "out"
    for languages, rejected in (((), []), (("en",), ["de", "en", "en"])):
        notes = dataclasses.replace(plain, filters=(Language(languages, min_score=0),))
        changed = dataclasses.replace(recipe, domains={**recipe.domains, "notes": notes})
        report = build(changed, root=root, out=out, engine=INLINE)
        found = {d.meta["source"]: d.meta for d in barrow.archive.open(out)}
        rejects = barrow.archive.open(out / "rejects")
        assert (
            sorted(d.meta["language"] for d in rejects if d.meta["stage"] == "filter") == rejected
        )
        if not languages:
            german, numbers = found["notes/de.txt"], found["notes/01.txt"]
            assert (german["language"], german["language_from"]) == ("de", "text")
            assert (numbers["language"], numbers["language_from"]) == ("en", "recipe")
            composition = report["splits"]["train"]["domains"][plain.name]["languages"]
            assert composition["de"]["documents"] == 1
            assert barrow.archive.verify(out, deep=True).ok


def test_the_source_is_the_file_that_the_member_names(tmp_path: Path) -> None:
    """PILE-5: of a folder read as a whole, provenance names the main file."""
    folder = tmp_path / "raw" / "papers" / "one"
    folder.mkdir(parents=True)
    for title in ("a", "b"):
        text = (
            f"\\documentclass{{x}}\\title{{{title}}}\\begin{{document}}\\input{{0}} "
            + "Mounds. " * 99
        )
        (folder / f"{title}.tex").write_text(text)
    (folder / "0.tex").write_text("Shared words.")
    recipe = Recipe("r", {"papers": Domain("Papers", Latex())})
    build(recipe, root=tmp_path / "raw", out=tmp_path / "out", engine=INLINE)
    found = {d.meta["title"]: d.meta for d in barrow.archive.open(tmp_path / "out")}
    assert {t: (m["source"], m["member"]) for t, m in found.items()} == {
        title: (f"papers/one/{title}.tex", f"{title}.tex") for title in ("a", "b")
    }
    assert len({meta["id"] for meta in found.values()}) == 2


def digests(folder: Path) -> dict[str, str]:
    """sha256 of everything a build writes, its folder of work and its times apart."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".work" not in path.parts and path.stem != "times"
    }


def test_every_document_says_where_it_came_from(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    """PILE-5: domain, source, licence, retrieval date, raw hash, extractor and version."""
    out = tmp_path / "out"
    report = build(recipe, root=root, out=out, engine=INLINE)
    archive = barrow.archive.open(out)
    assert len(archive) == 42
    assert barrow.archive.verify(out, deep=True).ok
    assert len(archive.paths) > 1
    for document in archive:
        meta = document.meta
        raw = (root / meta["source"]).read_bytes()
        assert meta["raw_sha256"] == hashlib.sha256(raw).hexdigest()
        assert raw.decode().rstrip() == document.text
        assert meta["extractor"] == "plain_text/2"
        assert meta["decisions"] == {"read": "keep", "filter": "keep", "split": "train"}
        if meta["pile_set_name"] == "Letters":
            assert (meta["licence"], meta["retrieved"]) == ("CC0-1.0", "2024-05-06")
            assert "retrieved_from" not in meta
        else:
            assert (meta["licence"], meta["language"]) == ("LicenseRef-unknown", "en")
            changed = (root / meta["source"]).stat().st_mtime
            assert meta["retrieved"] == time.strftime("%Y-%m-%d", time.gmtime(changed))
            assert meta["retrieved_from"] == "file"
    assert len({d.meta["id"] for d in archive}) == 42
    assert report["reading"]["letters"] == {
        "name": "Letters",
        "extractor": "plain_text/2",
        "files": 31,
        "documents": 30,
        "bytes": sum(len(d.text) for d in archive if d.domain == "Letters"),
        "rejects": {"empty": 1},
        "unread_files": 2,
        "unread_examples": ["letters/link.txt", "letters/picture.png"],
    }
    assert json.loads((out / "manifest.json").read_text()) == report
    (reject,) = barrow.archive.open(out / "rejects")
    assert reject.meta["reason"] == "empty"
    assert reject.meta["source"] == "letters/empty.txt"


def test_the_same_bytes_whoever_works(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    """PILE-1: the same recipe gives the same sha256 on any number of workers, anywhere."""
    results = []
    for k, engine in enumerate([INLINE, Engine(num_workers=2)]):
        moved = tmp_path / f"root{k}"
        shutil.copytree(root, moved, symlinks=True)
        out = tmp_path / f"out{k}"
        build(recipe, root=moved, out=out, engine=engine)
        results.append(digests(out))
    assert results[0] == results[1]


def performed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from barrow.engine import store

    done: list[str] = []
    original = store.Store.perform

    def perform(self: store.Store, task: object) -> None:
        done.append(task.label)  # type: ignore[attr-defined]
        original(self, task)  # type: ignore[arg-type]

    monkeypatch.setattr(store.Store, "perform", perform)
    return done


def test_an_edit_rebuilds_only_what_depends_on_it(
    root: Path, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    done = performed(monkeypatch)
    build(recipe, root=root, out=out, engine=INLINE)
    first = digests(out)
    done.clear()
    build(recipe, root=root, out=out, engine=INLINE)
    assert done == []
    assert digests(out) == first
    (root / "notes" / "03.txt").write_text("a new text")
    build(recipe, root=root, out=out, engine=INLINE)
    assert sum(label.startswith("notes") for label in done) == 1
    assert sum(label.startswith("letters") for label in done) == 1, "its texts are needed again"
    assert barrow.archive.verify(out, deep=True).ok
    texts = [d.text for d in barrow.archive.open(out)]
    assert "a new text" in texts
    fresh = tmp_path / "fresh"
    build(recipe, root=root, out=fresh, engine=INLINE)
    assert digests(out) == digests(fresh), "nothing of the old build is left"


def test_a_saved_recipe_rebuilds(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    build(recipe, root=root, out=tmp_path / "a", engine=INLINE)
    saved = config.from_json(Recipe, (tmp_path / "a" / "recipe.json").read_text())
    assert saved == recipe
    build(saved, root=root, out=tmp_path / "b", engine=INLINE)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")


def test_missing_domains(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    domains = {
        **recipe.domains,
        "books": Domain("Books", PlainText()),
        "web": Domain("Web", Warc()),
    }
    wider = dataclasses.replace(recipe, domains=domains)
    with pytest.raises(
        NotFound, match=r"books: no files .* \(and 1 more domains\); pass --missing"
    ):
        build(wider, root=root, out=tmp_path / "a", engine=INLINE)
    skipping = dataclasses.replace(wider, missing="skip")
    report = build(skipping, root=root, out=tmp_path / "b", engine=INLINE)
    assert report["missing"] == {
        "books": "no files that PlainText reads",
        "web": "no files that Warc reads",
    }
    with pytest.raises(NotFound, match="not a folder of raw files"):
        build(recipe, root=tmp_path / "none", out=tmp_path / "c")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(NotFound, match="contains no file"):
        build(skipping, root=tmp_path / "nothing", out=tmp_path / "d")


def test_somebody_elses_folder_is_left_alone(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="not created by"):
        build(recipe, root=root, out=mine)
    with pytest.raises(FileExistsError, match="is a file"):
        build(recipe, root=root, out=mine / "thesis.txt")
    assert (mine / "thesis.txt").read_text() == "years of work"


def test_what_is_missing_is_named(
    root: Path, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"needs numba: pip install '.\[corpus\]'"):
        build(recipe, root=root, out=tmp_path / "out")


def test_the_folder_of_work_can_go(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    build(recipe, root=root, out=tmp_path / "out", engine=INLINE)
    before = digests(tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / ".work")
    build(recipe, root=root, out=tmp_path / "out", engine=INLINE)
    assert digests(tmp_path / "out") == before


def test_what_is_written_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    recipe = Recipe("r", {".": Domain("A", Records())})
    first = build(recipe, root=tmp_path, out=tmp_path / "out", engine=INLINE)
    again = build(recipe, root=tmp_path, out=tmp_path / "out", engine=INLINE)
    assert again == first
    assert again["reading"]["."]["files"] == 1
    assert again["reading"]["."]["unread_files"] == 0


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        ({"object": "barrow.corpus:PlainTxt"}, "has no PlainTxt; did you mean 'PlainText'"),
        ({"object": "barrow.corpus:PlainText", "max_byte": 1}, "did you mean 'max_bytes'"),
        ("plain_text", "did you mean 'PlainText'"),
    ],
)
def test_a_misspelt_reader_is_an_error_also_where_domains_may_be_missing(
    reader: Any, words: str, recipe: Recipe
) -> None:
    saved = config.to_dict(dataclasses.replace(recipe, missing="skip"))
    saved["domains"]["letters"]["reader"] = reader
    with pytest.raises(ConfigError, match=r"domains\.letters\.reader") as caught:
        config.from_dict(Recipe, saved)
    assert words in str(caught.value)


def test_progress_adds_up(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    plans: list[tuple[str, int]] = []
    done: list[int] = []
    progress = Progress(lambda what, total: plans.append((what, total)), done.append)
    build(recipe, root=root, out=tmp_path / "out", engine=INLINE, progress=progress)
    assert [what for what, _ in plans] == [
        "Hashing",
        "Reading",
        "Examining",
        "Planning",
        "Sorting",
        "Writing",
        "Writing rejects",
    ]
    assert sum(done) == sum(total for _, total in plans)


def test_repositories_are_read_as_a_whole(tmp_path: Path) -> None:
    """PILE-6: a folder or a packed file is one repository, with one licence."""
    repository = tmp_path / "raw" / "github" / "tool"
    (repository / "src").mkdir(parents=True)
    (repository / "src" / "main.py").write_text("def main():\n    return 1\n" * 5)
    (repository / "pyproject.toml").write_text('[project]\nname = "tool"\nlicense = "MIT"\n')
    recipe = Recipe("r", {"github": Domain("Github", GitHub())})
    report = build(recipe, root=tmp_path / "raw", out=tmp_path / "out", engine=INLINE)
    documents = {d.meta["member"]: d for d in barrow.archive.open(tmp_path / "out")}
    assert set(documents) == {"src/main.py", "pyproject.toml"}
    assert {d.meta["licence"] for d in documents.values()} == {"MIT"}
    assert {d.meta["source"] for d in documents.values()} == {"github/tool"}
    assert report["reading"]["github"]["unread_files"] == 0


CODE = """
import os, signal, sys
from pathlib import Path
from barrow import config
from barrow.corpus import Recipe, build
from barrow.engine import Engine, Progress

stages = []

def on_bytes(number):
    if stages[-1] == last:
        os.killpg(0, signal.SIGKILL)

if __name__ == "__main__":
    recipe, root, out, last = sys.argv[1:]
    recipe = config.from_json(Recipe, Path(recipe).read_text())
    progress = Progress(lambda what, _: stages.append(what), on_bytes)
    print("go", flush=True)
    build(recipe, root=Path(root), out=Path(out), engine=Engine(num_workers=2), progress=progress)
"""


@pytest.fixture
def start(
    root: Path, recipe: Recipe, tmp_path: Path
) -> Callable[[Path, str], subprocess.Popen[bytes]]:
    """Start a build that kills itself and its workers when something of a stage is done."""
    (tmp_path / "script.py").write_text(CODE)
    (tmp_path / "recipe.json").write_text(config.to_json(whole(recipe)))

    def start(out: Path, last: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, tmp_path / "script.py", tmp_path / "recipe.json", root, out]
        return subprocess.Popen([*command, last], stdout=subprocess.PIPE, start_new_session=True)

    return start


def whole(recipe: Recipe) -> Recipe:
    """With deduplication and splits."""
    deduplication, splits = Deduplication(budget=None), Splits(validation=0.1, test=0.1)
    return dataclasses.replace(recipe, deduplication=deduplication, splits=splits)


def test_killed_with_its_workers_and_resumed(
    root: Path, recipe: Recipe, tmp_path: Path, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PILE-1: kill -9 while files are read; what was read is kept, the bytes are the same."""
    out, expected = tmp_path / "out", tmp_path / "expected"
    with start(out, "Reading") as process:
        assert process.wait() == -signal.SIGKILL
    done = performed(monkeypatch)
    build(whole(recipe), root=root, out=expected, engine=INLINE)
    everything = len(done)
    done.clear()
    build(whole(recipe), root=root, out=out, engine=INLINE)
    assert digests(out) == digests(expected)
    assert 0 < len(done) < everything


def test_killed_again_and_again(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    """Each time before a later change of the disk than the last."""
    out, expected = tmp_path / "out", tmp_path / "expected"

    def act() -> None:
        build(whole(recipe), root=root, out=out, engine=INLINE)

    kills, step = 0, 24
    while killed_at(step, act):
        kills, step = kills + 1, 2 * step
    assert kills > 3
    build(whole(recipe), root=root, out=expected, engine=INLINE)
    assert digests(out) == digests(expected)


def test_leftovers_of_a_killed_build_go(root: Path, recipe: Recipe, tmp_path: Path) -> None:
    """Unless another build is writing to the same folder."""
    out = tmp_path / "out"
    build(whole(recipe), root=root, out=out, engine=INLINE)
    before = digests(out)
    for place in (".", "index", "validation/index", "rejects"):
        (out / place / ".00004-877acbfb.1.8b38d704.writing").write_bytes(b"half")
    with locked(out, is_shared=True):
        build(whole(recipe), root=root, out=out, engine=INLINE)
    assert len(digests(out)) == len(before) + 4
    build(whole(recipe), root=root, out=out, engine=INLINE)
    assert digests(out) == before


@pytest.mark.soak
def test_killed_at_random_moments(root: Path, recipe: Recipe, tmp_path: Path, start: Any) -> None:
    """Until the build is done; the bytes are those of a build that nobody disturbed."""
    rng = random.Random(0)
    for n in range(300):
        (root / "letters" / f"more{n:03d}.txt").write_text(rng.randbytes(20_000).hex())
    expected = tmp_path / "expected"
    build(whole(recipe), root=root, out=expected, engine=INLINE)
    for k in range(15):
        out = tmp_path / f"out{k}"
        for attempt in range(50):
            with start(out, "") as process:
                process.stdout.readline()
                # Longer from time to time: a loaded machine starts a build as slowly as it ends.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(rng.random() * 0.3 * 1.2**attempt)
                    break
                os.killpg(process.pid, signal.SIGKILL)
        assert process.returncode == 0
        assert digests(out) == digests(expected)
