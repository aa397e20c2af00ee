"""What the demo says of its results, beside the board and `barrow score diff` (PILE-10)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.score.scored_results import make_result
from typer.testing import CliRunner

from barrow.cli.demo import print_scores
from barrow.cli.main import app
from barrow.errors import ScoreError
from barrow.score.board import board_data, gather
from barrow.score.result import Result, write_result
from barrow.score.summary import rows_of

TEXTS = [(("Chat", "Code")[i % 2], f"text {i} " * (3 + i % 7)) for i in range(40)]
NOISE = np.random.default_rng(5).normal(0, 0.1, (3, 40))
WHOLE = "one compressed whole domains, the other saw each document alone"


def made(name: str, bits: np.ndarray, **options: Any) -> Result:
    """A result with its rows by domain."""
    result = make_result(name, bits=bits.tolist(), texts=TEXTS, **options)
    if result.documents is None:
        return result
    domains, overall = rows_of(result.documents, np.zeros(len(TEXTS)))
    return replace(result, domains=domains, overall=overall)


@pytest.fixture
def results() -> list[Result]:
    """A model that beats xz everywhere, and ngram:5 by chance and on Chat alone."""
    code = np.arange(40) % 2
    ours = 2.0 + NOISE[0]
    return [
        made("run", ours),
        made("ngram:5", 2.0 + NOISE[1] + np.where(code, -0.13, 0.15)),
        made("xz", 3.0 + NOISE[2], likelihood="compressed"),
        made("whole:xz", np.full(40, 1.9), likelihood="compressed", scope="domain"),
    ]


def test_demo_board_and_diff_say_the_same(
    results: list[Result], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same three numbers of each pair, overall, and the same verdicts, by domain too."""
    for result in results:
        write_result(tmp_path / result.model.name, result)
    print_scores(results)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line]
    table = {line[0]: line for line in lines[:4]}
    told = {line[0]: line for line in lines[-3:]}

    board = board_data(gather([tmp_path]))
    ids = {one["name"]: one["id"] for one in board["results"]}
    first, second = board["groups"]
    assert second["results"] == [ids["whole:xz"]]
    assert set(first["results"]) == {ids["run"], ids["ngram:5"], ids["xz"]}

    def diff(a: str, b: str) -> dict[str, list[str]]:
        done = CliRunner().invoke(app, ["score", "diff", str(tmp_path / a), str(tmp_path / b)])
        if done.exception is not None:
            raise done.exception
        return {row[0]: row for line in done.output.splitlines() if (row := line.split())}

    best = "ngram:5" if results[0].overall.bpb > results[1].overall.bpb else "run"
    signs = {"A": "+", "B": "-", "=": "="}
    for other, column in (("ngram:5", 4), ("xz", 6)):
        rows = diff("run", other)
        # A - B, its interval, and the verdict; in the demo as in diff.
        assert told[other][1:5] == rows["overall"][5:9]
        assert table["overall"][column - 1] == signs[rows["overall"][-2]]
        for domain in ("Chat", "Code"):
            assert table[domain][column - 1] == signs[rows[domain][-2]]
            ranks = first["places"][domain]
            ours, theirs = ranks[ids["run"]], ranks[ids[other]]
            below = {"+": ours[1] < theirs[1], "-": ours[1] > theirs[1], "=": ours == theirs}
            assert below[table[domain][column - 1]]
    for name in {"run", "ngram:5", "xz"} - {best}:
        row = diff(name, best)["overall"]
        figures = [f"{value:+.4f}" for value in first["from_best"][""][ids[name]]]
        assert figures == [row[5], row[6], row[8]]
    assert [table[name][3] for name in ("Chat", "Code", "overall")] == ["+", "-", "="]
    assert [first["places"][""][ids[name]] for name in ("run", "ngram:5", "xz")] == [
        *((1, 2), (1, 2), (3, 3)),
    ]
    assert [" ".join(told[name][5:]) for name in ("ngram:5", "xz")] == ["not settled", "fewer bits"]

    assert " ".join(told["whole:xz"][1:]) == f"not comparable: {WHOLE}"
    with pytest.raises(ScoreError, match=WHOLE):
        diff("run", "whole:xz")


def test_a_row_for_each_domain(results: list[Result], capsys: pytest.CaptureFixture[str]) -> None:
    print_scores([results[0], results[2], results[3]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["bits", "per", "byte", "run", "xz", "whole:xz"]
    for line, row, theirs in zip(lines[1:3], results[0].domains, results[2].domains, strict=True):
        assert line.split() == [row.name, f"{row.bpb:.3f}", f"{theirs.bpb:.3f}", "+", "–"]
    assert lines[3].split()[-1] == "1.900"


def test_a_domain_of_one_document_is_not_settled(capsys: pytest.CaptureFixture[str]) -> None:
    def alone(name: str, bits: float) -> Result:
        result = make_result(name, bits=[bits], texts=TEXTS[:1])
        assert result.documents is not None
        domains, overall = rows_of(result.documents, np.zeros(1))
        return replace(result, domains=domains, overall=overall)

    print_scores([alone("run", 2.0), alone("xz", 3.0)])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["Chat", "2.000", "3.000", "="]
    assert lines[-1] == ["xz", "-1.0000", "not", "settled"]
