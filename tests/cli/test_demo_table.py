"""What the demo says of its results."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from barrow.cli.demo import print_scores, verdict


def made(name: str, bpb: float, **domains: float) -> Any:
    rows = [SimpleNamespace(name=domain, bpb=value) for domain, value in domains.items()]
    return SimpleNamespace(
        model=SimpleNamespace(name=name), overall=SimpleNamespace(bpb=bpb), domains=rows
    )


def test_the_verdict_says_what_is_not_beaten_too() -> None:
    ours, xz, ngram = made("run", 2.0), made("xz", 2.5), made("ngram:5", 1.9)
    assert verdict([ours, xz, ngram]).endswith("fewer than xz; not fewer than ngram:5")
    assert verdict([ours, xz]).endswith("seen: fewer than xz")
    assert verdict([ours, ngram]).endswith("more than all others")


def test_a_row_for_each_domain(capsys: Any) -> None:
    print_scores([made("run", 2.0, Chat=1.5, Code=3.0), made("xz", 2.5, Chat=2.25)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["bits", "per", "byte", "run", "xz"]
    assert [line.split() for line in lines[1:4]] == [
        ["Chat", "1.500", "2.250"],
        ["Code", "3.000", "–"],
        ["overall", "2.000", "2.500"],
    ]
