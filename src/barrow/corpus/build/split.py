"""Before reading: where large files can be cut, so that each is many tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from barrow.corpus.build.sources import Source
from barrow.corpus.readers.reader import Reader, Span
from barrow.engine import File, Output, Outputs, Stage, Stages
from barrow.files import write_part

# A file of more bytes, decompressed, is cut into parts of about so many.
SPAN_BYTES = 1 << 26


@dataclass(frozen=True)
class Settings:
    """The reader of a file, and the size of a part."""

    reader: Reader
    extractor: str
    target: int


class Spans(Outputs):
    """The parts of a file; none if it cannot be cut."""

    spans = Output("spans.json")


def find_spans(settings: Settings, file: File, out: Spans) -> None:
    """Find the parts of one file."""
    found = settings.reader.spans(file.path, settings.target)
    write_part(out.spans.path, json.dumps(found).encode())


SPLIT = Stage("corpus.split", 1, find_spans, Spans)


def split_files(
    sources: Sequence[Source], stages: Stages, target: int = SPAN_BYTES
) -> dict[str, list[Span]]:
    """The parts of every large file whose reader can cut it, by path."""
    large = [
        (source.domain.reader, file)
        for source in sources
        for (file, *more) in source.groups
        if not more and file.content_size > target
        if type(source.domain.reader).spans is not Reader.spans
    ]
    if not large:
        return {}
    results = stages.run(
        "Splitting",
        [
            SPLIT.task(
                file.name, Settings(reader, reader.extractor, target), file.file, size=file.size
            )
            for reader, file in large
        ],
    )
    return {
        file.path: [tuple(span) for span in json.loads(result.spans.path.read_text())]
        for (_, file), result in zip(large, results, strict=True)
    }
