"""`barrow score diff`: tables for people, JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from tests.score.scored_results import TEXTS, make_result
from typer.testing import CliRunner, Result

from barrow.cli.score.diff import diff
from barrow.errors import ScoreError
from barrow.score.result import write_result

A = [2.0 + 0.1 * i for i in range(len(TEXTS))]
B = [1.9 + 0.1 * i for i in range(len(TEXTS))]

app = typer.Typer(rich_markup_mode=None)
app.command()(diff)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    results = [make_result("large\x1b[31m", bits=A), make_result("small", bits=B)]
    for number, made in enumerate(results):
        write_result(tmp_path / str(number), made)
    return [str(tmp_path / "0"), str(tmp_path / "1" / "scores.json")]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_tables(files: list[str]) -> None:
    out = run(*files).output
    assert "A is large" in out
    assert "B is small" in out
    assert "\x1b" not in out
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    assert lines["overall"][5] == "+0.1000"
    assert lines["overall"][-1] == "100.0%"
    assert {"code", "prose", "letters", "others"} <= set(lines)
    assert out.count("sha256") == 5
    assert "sha256" not in run(*files, "--worst", "0").output


def test_json(files: list[str]) -> None:
    told = json.loads(run(*files, "--json").output)
    assert told["overall"]["difference"] == pytest.approx(0.1)
    assert [row["name"] for row in told["domains"]] == ["code", "prose"]
    assert told["resamples"] == 10_000


def test_other_cards(files: list[str], tmp_path: Path) -> None:
    other = write_result(tmp_path / "x", make_result("x", bits=A[1:], texts=TEXTS[1:]))
    result = run(files[0], str(other))
    assert isinstance(result.exception, ScoreError)
    assert "other documents were scored" in str(result.exception)
