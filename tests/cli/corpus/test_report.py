from __future__ import annotations

import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest

from barrow.corpus import Domain, PlainText, Recipe, build
from barrow.engine import Engine


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "raw" / "texts").mkdir(parents=True)
    for n in range(5):
        (tmp_path / "raw" / "texts" / f"{n}.txt").write_text(f"text number {n}")
    (tmp_path / "raw" / "texts" / "empty.txt").touch()
    recipe = Recipe("mine", {"texts": Domain("Texts", PlainText())})
    build(recipe, root=tmp_path / "raw", out=tmp_path / "out", engine=Engine(num_workers=0))
    return tmp_path / "out"


def test_papers_are_made_anew(barrow: Callable, corpus: Path) -> None:
    names = ("datasheet.md", "report.html")
    before = [(corpus / name).read_bytes() for name in names]
    for name in names:
        (corpus / name).unlink()
    code, out, err = barrow("corpus", "report", corpus)
    assert (code, err) == (0, "")
    assert out.splitlines() == [str(corpus / name) for name in names]
    assert [(corpus / name).read_bytes() for name in names] == before


def test_to_another_file(barrow: Callable, corpus: Path, tmp_path: Path) -> None:
    before = (corpus / "report.html").read_bytes()
    for name in ("datasheet.md", "report.html"):
        (corpus / name).unlink()
    code, out, _ = barrow("corpus", "report", corpus, "--out", tmp_path / "x.html")
    assert (code, out) == (0, f"{tmp_path}/x.html\n")
    link = b'<a href="times.html">What each stage took</a>'
    assert link in before
    assert (tmp_path / "x.html").read_bytes() == before.replace(link, b"")
    assert not (corpus / "datasheet.md").exists()
    code, _, err = barrow("corpus", "report", corpus, "--out", tmp_path / "no" / "x.html")
    assert (code, err) == (1, f"barrow: {tmp_path}/no is not a folder to write x.html to\n")


def test_it_can_be_opened(barrow: Callable, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert barrow("corpus", "report", corpus, "--open").code == 0
    assert opened == [(corpus / "report.html").resolve().as_uri()]


def test_without_rejects(barrow: Callable, corpus: Path) -> None:
    for path in (corpus / "rejects").iterdir():
        path.unlink()
    assert barrow("corpus", "report", corpus).code == 0
    assert "No sample was kept." in (corpus / "report.html").read_text()


def test_what_is_no_build(barrow: Callable, tmp_path: Path) -> None:
    code, _, err = barrow("corpus", "report", tmp_path)
    assert code == 1
    assert err == f"barrow: {tmp_path} has no manifest.json; was it made by barrow build?\n"
