"""`docs/capabilities.md` has every ID that tests cite, and names tests and pages that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/capabilities.md"
# How many IDs each group has, in the order of the page.
GROUPS = {
    "PILE": 12,
    "FLAX": 13,
    "ACCELERATE": 15,
    "DEEPSPEED": 14,
    "CLIP": 12,
    "ROBERTA": 8,
    "BEYOND": 14,
}


class Row(NamedTuple):
    id: str
    what: str
    state: str
    documented: str
    shown: str


ROWS = [
    Row(*(cell.strip() for cell in line[1:-1].split("|")))
    for line in PAGE.read_text().splitlines()
    if re.match(r"\| [A-Z]+-\d", line)
]


def test_ids_are_numbered_without_gaps() -> None:
    wanted = [f"{group}-{n}" for group, number in GROUPS.items() for n in range(1, number + 1)]
    assert [row.id for row in ROWS] == wanted


def test_every_id_cited_in_tests_is_a_row() -> None:
    known = {row.id for row in ROWS}
    cited = re.compile(rf"\b(?:{'|'.join(GROUPS)})-\d+")
    unknown = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "tests").rglob("*.py")
        for name in cited.findall(path.read_text())
        if name not in known
    }
    assert not unknown


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_a_row_names_what_exists(row: Row) -> None:
    state, _, lacks = row.state.partition(": ")
    assert row.what
    if state == "missing":
        assert (lacks, row.documented, row.shown) == ("", "", "")
        return
    assert state in ("present", "partial")
    assert (1 <= len(lacks.split()) <= 12) if state == "partial" else not lacks
    tests = re.findall(r"`(tests/[^`]+)`", row.shown)
    pages = re.findall(r"\]\(([^)#\s]+)", row.documented)
    assert tests
    assert pages
    for name in tests:
        file, _, function = name.partition("::")
        assert re.fullmatch(r"(?:\w+/)+test_\w+\.py", file), file
        assert (ROOT / file).is_file(), file
        text = (ROOT / file).read_text()
        found = re.findall(r"^def (test_\w+)\(", text, re.M)
        assert function in found if function else found, name
        assert re.search(rf"\b{row.id}\b", text), f"{file} does not cite {row.id}"
    for link in pages + re.findall(r"\]\(([^)#\s]+)", row.shown):
        assert (PAGE.parent / link).is_file(), link
