"""Tables of runs: what is read, and what is refused with its file, line and column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from barrow.errors import BarrowError, ConfigError
from barrow.mix import read_mixtures, read_runs

GOOD = """run,params,weight:a,weight:b,loss:a
1,1e6,0.5,0.5,3.5
2,1e6,0.995,0.0,3.0
3,1e6,0,1,4.25
"""


def written(folder: Path, text: str, name: str = "runs.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_runs_are_read(tmp_path: Path) -> None:
    runs = read_runs([written(tmp_path, GOOD)])
    assert (runs.names, runs.domains, runs.scored) == (("1", "2", "3"), ("a", "b"), ("a",))
    np.testing.assert_array_equal(runs.weights, [[0.5, 0.5], [1, 0], [0, 1]])  # scaled to 1
    np.testing.assert_array_equal(runs.losses, [[3.5], [3.0], [4.25]])
    np.testing.assert_array_equal(runs.params, 1e6)


def test_a_second_file_may_have_another_domain(tmp_path: Path) -> None:
    more = "run,params,weight:b,weight:c,loss:a\n4,2e6,0.5,0.5,5\n"
    runs = read_runs([written(tmp_path, GOOD), written(tmp_path, more, "more.csv")])
    assert runs.domains == ("a", "b", "c")
    np.testing.assert_array_equal(runs.weights[3], [0, 0.5, 0.5])
    np.testing.assert_array_equal(runs.weights[:3, 2], 0)


def test_names_count_within_a_file(tmp_path: Path) -> None:
    """Everybody numbers runs from 1. The same figures are the same run, in whatever order."""
    more = "run,params,weight:b,weight:c,loss:a\n1,1e6,0.5,0.5,3.5\n2,1e6,1,0,4\n"
    runs = read_runs([written(tmp_path, GOOD), written(tmp_path, more, "more.csv")])
    assert runs.names == ("1", "2", "3", "1", "2")
    again = "run,params,loss:a,weight:c,weight:b,weight:a\nx,1e6,3.5,0,0.5,0.5\n"
    with pytest.raises(ConfigError, match="again.csv, line 2: run x is a duplicate of .*line 2"):
        read_runs([written(tmp_path, GOOD), written(tmp_path, again, "again.csv")])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("loss:a\n1", "los:a\n1", "runs.csv: unknown column 'los:a'; did you mean 'loss:DOMAIN'"),
        ("loss:a\n1", "weight:a\n1", "runs.csv: there are two columns 'weight:a'"),
        ("run,params", "params,weight:c", "runs.csv: there is no column 'run'"),
        ("3.5", "nan", "runs.csv, line 2: loss:a must be a number, got 'nan'"),
        ("3.5", "", "runs.csv, line 2: loss:a must be a number, got ''"),
        ("3.5", "inf", "line 2: loss:a must be a number, got 'inf'"),
        ("4.25", "-1", "runs.csv, line 4: loss:a must be > 0, got -1"),
        ("1,1e6", "1,0", "runs.csv, line 2: params must be > 0, got 0"),
        ("0.5,0.5", "0.5,0.53", "runs.csv, line 2: weights must sum to 1, got 1.03"),
        ("0.5,0.5", "1.5,-0.5", "runs.csv, line 2: weights must be ≥ 0, got -0.5"),
        ("\n3,", "\n2,", "runs.csv, line 4: run 2 is a duplicate of .*runs.csv, line 3"),
        ("3,1e6,0,1,4.25", "3,1e6,.5,.5,3.5", "line 4: run 3 is a duplicate of .*line 2"),
        (",4.25", "", "runs.csv, line 4: 5 values expected, 4 found"),
        (GOOD, "", "runs.csv: there are no rows"),
        (GOOD, "run,params,weight:a,loss:a\n1,1,1,1\n", "a mixture needs ≥ 2 domains, got 1"),
        (GOOD, "run,params,weight:a,weight:b\n1,1,1,0\n", "there is no column loss:DOMAIN"),
    ],
)
def test_bad_tables(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_runs([written(tmp_path, GOOD.replace(old, new, 1))])


def test_files_must_score_the_same(tmp_path: Path) -> None:
    other = written(tmp_path, GOOD.replace("loss:a", "loss:b"), "other.csv")
    with pytest.raises(ConfigError, match=r"other.csv: the scored domains must be those of .*: a$"):
        read_runs([written(tmp_path, GOOD), other])


def test_mixtures(tmp_path: Path) -> None:
    path = written(tmp_path, "weight:b,weight:a\n0.25,0.75\n1,0\n")
    np.testing.assert_array_equal(
        read_mixtures(path, ("a", "b", "c")), [[0.75, 0.25, 0], [0, 1, 0]]
    )
    with pytest.raises(ConfigError, match="no run has the domain 'b'"):
        read_mixtures(path, ("a", "c"))
    with pytest.raises(BarrowError, match="missing.csv: no such file"):
        read_mixtures(tmp_path / "missing.csv", ("a", "b"))
