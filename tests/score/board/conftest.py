from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.score.board.made_results import several, write

from barrow.score.board import board_data, gather, page
from barrow.score.result import Result


@pytest.fixture(scope="session")
def board_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of `several` results, and of two files that are none."""
    folder = write(tmp_path_factory.mktemp("board") / "results", several())
    (folder / "manifest.json").write_text("{}")
    (folder / "torn.json").write_text('{"format": "barrow-score-1", "mod')
    file = folder.parent / "board.html"
    file.write_text(page(board_data(gather([folder]))))
    return file


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[[dict[str, Result]], Path]:
    """Write the page of some results."""

    def page_of(results: dict[str, Result]) -> Path:
        folder = write(tmp_path / "results", results)
        file = tmp_path / "board.html"
        file.write_text(page(board_data(gather([folder]))))
        return file

    return page_of
