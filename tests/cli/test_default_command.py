"""A command with arguments of its own, and further verbs after it."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from barrow.cli.default_command import with_verbs


def score(model: str, corpus: str, limit: Annotated[int, typer.Option()] = 0) -> None:
    """Score a model."""
    typer.echo(f"score {model} {corpus} {limit}")


def diff(first: str, second: str, as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
    """Compare two results."""
    typer.echo(f"diff {first} {second} {as_json}")


def nothing() -> None:
    """Do nothing."""


app = typer.Typer(rich_markup_mode=None)
app.command("score", cls=with_verbs({"diff": diff}))(score)
app.command("nothing")(nothing)


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (["score", "m", "c"], "score m c 0"),
        (["score", "--limit", "3", "m", "c"], "score m c 3"),
        (["score", "m", "diff"], "score m diff 0"),
        (["score", "./diff", "c"], "score ./diff c 0"),
        (["score", "diff", "a", "b"], "diff a b False"),
        (["score", "diff", "--json", "a", "b"], "diff a b True"),
    ],
)
def test_who_is_called(arguments: list[str], out: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.output) == (0, f"{out}\n")


def test_help_of_both() -> None:
    told = CliRunner().invoke(app, ["score", "--help"]).output
    assert "score [OPTIONS]" in told
    assert "corpus" in told.lower()
    assert "Commands:" in told
    assert "Compare two results." in told
    told = CliRunner().invoke(app, ["score", "diff", "--help"]).output
    assert "score diff [OPTIONS]" in told
    assert "--json" in told
    assert "--limit" not in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["score", "m"], "CORPUS"), (["score", "diff", "a"], "SECOND"), (["score", "diff"], "FIRST")],
)
def test_wrong_usage(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert words in result.output.upper()
