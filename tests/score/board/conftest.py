from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.score.board.chromium import NAMES, Chromium, Page, find_chromium
from tests.score.board.made_results import several, write

from barrow.score.board import board_data, gather, page
from barrow.score.result import Result


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser for all tests."""
    program = find_chromium()
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    browser = Chromium(program, tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


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
def show(browser: Chromium) -> Iterator[Callable[..., Page]]:
    """Open a file or an address; tabs are closed in the end, and must not have complained."""
    pages: list[Page] = []

    def show(where: Path | str, *, after: str = "", **options: object) -> Page:
        url = where if isinstance(where, str) else where.as_uri()
        pages.append(browser.page(url + after, **options))  # type: ignore[arg-type]
        return pages[-1]

    yield show
    complaints = [complaint for tab in pages for complaint in tab.complaints()]
    for tab in pages:
        tab.close()
    assert complaints == []


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[[dict[str, Result]], Path]:
    """Write the page of some results."""

    def page_of(results: dict[str, Result]) -> Path:
        folder = write(tmp_path / "results", results)
        file = tmp_path / "board.html"
        file.write_text(page(board_data(gather([folder]))))
        return file

    return page_of
