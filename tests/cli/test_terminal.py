from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barrow.cli import terminal
from barrow.cli.build import print_report
from barrow.cli.terminal import print_table, printable


def test_nothing_acts_on_the_terminal() -> None:
    assert printable("a\tb\nc é 日") == "a\tb\nc é 日"
    assert printable("\x1b[31m\x07\x9b\u202e") == "�[31m���"


def test_cells_and_titles_may_say_anything(capsys: pytest.CaptureFixture[str]) -> None:
    """Markup, which would end in a MarkupError, escape sequences, and lines that look like rows."""
    print_table(("domain", "[/b] n"), [("[/bold]", "1"), ("\x1b[31mred\nB  2", "[link]")])
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines()] == [
        ["domain", "[/b]", "n"],
        ["[/bold]", "1"],
        ["�[31mred", "B", "2", "[link]"],
    ]


def test_figures_are_on_the_right_and_text_on_the_left(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("a", "b", "c"), [("1", "22", "3"), ("long", "4", "words")], left=("a", "c"))
    assert capsys.readouterr().out.splitlines() == [
        "a      b  c    ",
        "1     22  3    ",
        "long   4  words",
    ]


def test_every_table_of_the_command_line_is_made_here() -> None:
    folder = Path(terminal.__file__).parent
    assert [path.name for path in folder.glob("*.py") if "rich.table" in path.read_text()] == [
        "terminal.py"
    ]


def test_a_build_with_a_domain_of_any_name(capsys: pytest.CaptureFixture[str]) -> None:
    split = {"domains": {"[/bold]": {"documents": 1, "bytes": 9}}}
    reading = {"raw": {"name": "[/bold]", "files": 1, "rejects": {}}}
    rejects: dict[str, Any] = {
        "filter": {"rejects": {"[b]x": 2}},
        "deduplicate": {"documents": 1, "rejects": {}},
        "mix": {"rejects": {}},
    }
    stages = {"[/bold]": {"documents": 1, **rejects}}
    missing = {"\x1b]0;": "no such folder"}
    print_report(
        {"splits": {"train": split}, "reading": reading, "stages": stages, "missing": missing}
    )
    _, row, left_out = capsys.readouterr().out.splitlines()
    assert row.split() == ["[/bold]", "1", "1", "1", "9", "2", "[b]x"]
    assert left_out == "left out: �]0; (no such folder)"
