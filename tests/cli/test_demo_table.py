from __future__ import annotations

from dataclasses import replace

import pytest
from tests.score.scored_results import TEXTS, make_result

from barrow.cli.demo_table import print_scores, verdict
from barrow.score.result import Result


def result(name: str, bits: float, *domains: str) -> Result:
    made = make_result(name, bits=[bits] * len(TEXTS))
    return replace(made, domains=tuple(replace(made.overall, name=one) for one in domains))


def test_what_ours_beats_is_told() -> None:
    ours, worse, better = result("ours", 2.0), result("xz", 2.5), result("gpt2", 1.5)
    told = "the model needs 2.000 bits for a byte it has not seen: "
    assert verdict([ours, worse]) == told + "fewer than xz"
    assert verdict([ours, worse, better]) == told + "fewer than xz; not fewer than gpt2"
    assert verdict([ours, better]) == told + "more than all others"


def test_a_row_for_each_domain_and_a_dash_where_nothing_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_scores([result("ours", 2.0, "code", "pro\x1b[31mse"), result("xz", 2.5, "code")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0][-2:] == ["ours", "xz"]
    assert lines[1] == ["code", "2.000", "2.500"]
    assert lines[2][-2:] == ["2.000", "–"]
    assert "\x1b" not in str(lines[2])
    assert lines[3] == ["overall", "2.000", "2.500"]
    assert lines[4][-1] == "xz"
