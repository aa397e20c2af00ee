"""DM Mathematics: files of a question line and an answer line, in turn.

As The Pile does, the lines of a file are cut into documents of at most 8 KiB, at a question. `meta`
has the module (the file's name, ``algebra__linear_1d``) and the difficulty (its folder,
``train-easy``). A last question without an answer is dropped. The data set is Apache-2.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from barrow.archive import Document
from barrow.corpus.input.open_raw import open_raw
from barrow.corpus.readers.reader import Item, Reader, Reject, excerpt

_MAX_LINE = 1 << 20


@dataclass(frozen=True)
class DmMathematics(Reader):
    """DeepMind Mathematics: question and answer lines, in documents of whole problems.

    Reasons: those of `open_raw`, ``not-utf8``, ``too-long``, ``no-answer``.
    """

    document_bytes: int = 8192

    extractor = "dm_mathematics/1"
    patterns = ("**/*.txt",)

    def read(self, path: Path) -> Iterator[Item]:
        file = open_raw(path)
        if isinstance(file, Reject):
            yield file
            return
        meta = {"module": path.stem, "difficulty": path.parent.name}
        gathered: list[str] = []
        size = number = first = 0
        with file:
            lines = (line.rstrip(b"\r\n") for line in iter(lambda: file.readline(_MAX_LINE), b""))
            for question in lines:
                answer = next(lines, None)
                if answer is None:
                    if question.strip():
                        cause = "the last line is a question without an answer"
                        yield Reject("no-answer", cause, str(number), excerpt(question))
                    break
                problem = _problem(question, answer, number, self.document_bytes)
                number += 1
                if isinstance(problem, Reject):
                    yield problem
                    continue
                problem_size = len(problem.encode())
                if gathered and size + problem_size > self.document_bytes:
                    yield Document("".join(gathered), {**meta, "member": str(first)})
                    gathered, size, first = [], 0, number - 1
                gathered.append(problem)
                size += problem_size
        if gathered:
            yield Document("".join(gathered), {**meta, "member": str(first)})


def _problem(question: bytes, answer: bytes, number: int, limit: int) -> str | Reject:
    raw = question + b"\n" + answer + b"\n"
    if len(raw) > limit:
        cause = f"a problem of {len(raw):,} bytes, over {limit:,}"
        return Reject("too-long", cause, str(number), excerpt(raw))
    try:
        return raw.decode().replace("\0", "")
    except UnicodeDecodeError as error:
        return Reject("not-utf8", str(error), str(number), excerpt(raw))
