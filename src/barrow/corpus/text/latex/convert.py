"""A paper's files to markdown."""

from __future__ import annotations

from dataclasses import dataclass

from barrow.corpus.text.latex.definitions import Definitions
from barrow.corpus.text.latex.project import Project
from barrow.corpus.text.latex.source import Source
from barrow.corpus.text.latex.writer import Writer


@dataclass(frozen=True, slots=True)
class Converted:
    """Markdown, and the title on its own."""

    text: str
    title: str


def convert(
    project: Project, main: str, *, preamble: list[str] | None = None, keep_bibliography: bool
) -> Converted:
    """The markdown of a main file; `preamble` names files to take definitions from first.

    Raises `TooMuchExpansion` for macros that do not end.
    """

    def find(name: str) -> str | None:
        return project.find(name, main)

    definitions = Definitions()
    for name in preamble or ():
        source = Source(project.text(name), find, definitions, project.size)
        Writer(source, has_chapters=False, keep_bibliography=False).write(in_body=False)
    text = project.text(main)
    source = Source(text, find, definitions, project.size)
    writer = Writer(
        source,
        has_chapters=project.has_chapters(),
        keep_bibliography=keep_bibliography,
        references=project.references,
    )
    in_body = "\\begin{document}" not in text and "\\begin {document}" not in text
    return Converted(writer.write(in_body=in_body), writer.title)
