from __future__ import annotations

from collections.abc import Callable

import pytest

from barrow.corpus.text.latex.convert import convert
from barrow.corpus.text.latex.project import Project

Markdown = Callable[..., str]


@pytest.fixture
def markdown() -> Markdown:
    """The markdown of a document's body, after a preamble."""

    def markdown(body: str, preamble: str = "", *, keep_bibliography: bool = False) -> str:
        text = f"\\documentclass{{article}}{preamble}\\begin{{document}}{body}\\end{{document}}"
        project = Project({"main.tex": text.encode()})
        return convert(project, "main.tex", keep_bibliography=keep_bibliography).text

    return markdown
