"""A reader and a filter that barrow does not know: from Python, from the command line, resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import barrow as package
from barrow import config
from barrow.cli.main import run
from barrow.corpus import Recipe, Repair, build
from barrow.corpus.report.write import read_build
from barrow.engine import Engine
from barrow.errors import ConfigError
from barrow.files import sha256_of

HERE = Path(__file__).parent
RECIPE = HERE / "corpus_recipe.py"
INLINE = Engine(num_workers=0)
QUOTED = "Stones are patient.\n%\nLOOK AT THIS NOW\n%\n\n%\nThe hill was here before the road."


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(HERE))
    (tmp_path / "raw" / "cookies").mkdir(parents=True)
    (tmp_path / "raw" / "cookies" / "a.fortunes").write_text(QUOTED)
    return tmp_path / "raw"


def texts(corpus: Path) -> list[str]:
    return sorted(document.text for document in package.archive.open(corpus))


def finished(corpus: Path) -> dict[str, int]:
    """Tasks that are done, and when."""
    return {p.name: p.stat().st_mtime_ns for p in (corpus / ".work" / "tasks").iterdir()}


KEPT = ["Stones are patient.", "The hill was here before the road."]


def test_from_python_and_resumed(raw: Path, tmp_path: Path) -> None:
    recipe = config.import_file(RECIPE).recipe()
    out = tmp_path / "out"
    told = build(recipe, root=raw, out=out, engine=INLINE)
    assert texts(out) == KEPT
    assert told["reading"]["cookies"]["rejects"] == {"too-short": 1}
    assert told["stages"]["Cookies"]["filter"]["rejects"] == {"shouting": 1}
    done = finished(out)
    assert build(recipe, root=raw, out=out, engine=INLINE) == told
    assert finished(out) == done, "nothing is done again"


def test_from_the_command_line_with_a_worker(raw: Path, tmp_path: Path) -> None:
    """In a process of its own, whose worker imports the package by name."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "barrow", "build", str(RECIPE)]
    command += ["--root", str(raw), "--out", str(out)]
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [*command, "--workers", "1"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert texts(out) == KEPT


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Path]:
    """Somebody's corpus whose recipe names code that leaves a mark when it is imported."""
    mark = f"\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    (tmp_path / "planted.py").write_text((HERE / "mystuff/reader.py").read_text() + mark)
    monkeypatch.syspath_prepend(str(tmp_path))

    def made(corpus: Path) -> Path:
        path = corpus / "recipe.json"
        path.write_text(path.read_text().replace("mystuff.reader:", "planted:"))
        assert "planted:Fortunes" in path.read_text()
        manifest = corpus / "manifest.json"
        table = json.loads(manifest.read_text()) | {"recipe_sha256": sha256_of(path)}
        manifest.write_text(json.dumps(table))
        return path

    return made


def test_a_recipe_that_came_with_a_corpus_runs_no_code(
    raw: Path, tmp_path: Path, foreign: Callable[[Path], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "out"
    build(config.import_file(RECIPE).recipe(), root=raw, out=corpus, engine=INLINE)
    saved = foreign(corpus)
    there = ["--root", str(raw)]
    assert run(["build", str(saved), *there, "--out", str(tmp_path / "b"), "--workers", "0"]) == 1
    assert "pass --trust planted" in capfd.readouterr().err
    with pytest.raises(ConfigError, match="--trust"):
        config.from_json(Recipe, saved.read_text())
    override = "domains.cookies.reader=planted:Fortunes"
    assert run(["build", str(RECIPE), override, *there, "--out", str(tmp_path / "c")]) == 1
    # Verbs that look at the recipe do without what it names.
    assert run(["corpus", "report", str(corpus), "--out", str(tmp_path / "report.html")]) == 0
    assert "Calm" in (corpus / "datasheet.md").read_text()
    assert run(["corpus", "takedown", str(corpus), "--doc", next(iter_ids(corpus)), "--yes"]) == 0
    assert run(["verify", str(corpus)]) == 0
    assert run(["corpus", "diff", str(corpus), str(corpus)]) == 0
    weighed = ["score", "zstd:3", str(corpus), "--split", "train", "--weights", str(saved)]
    assert run(weighed) == 2
    assert "gives its domains no weights" in capfd.readouterr().err
    _, recipe = read_build(corpus)
    assert config.to_json(recipe) == saved.read_text()
    assert recipe.domains["cookies"].filters[0] == Repair()
    assert not (tmp_path / "ran").exists(), "code of a recipe was run without --trust"
    trust = ["--trust", "planted", "--trust", "mystuff.filter", "--workers", "0"]
    assert run(["build", str(saved), *there, "--out", str(tmp_path / "d"), *trust]) == 0
    assert (tmp_path / "ran").exists()


def iter_ids(corpus: Path) -> Iterator[str]:
    return (document.meta["id"] for document in package.archive.open(corpus))
