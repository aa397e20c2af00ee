"""Answers to a file of prompts, in their order; an interrupted run is resumed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from barrow.config import parse_json
from barrow.errors import ConfigError
from barrow.files import AppendedFile, atomic_file, remove
from barrow.serve.engine import Engine
from barrow.serve.requests import Answer, Request


def read_prompts(path: Path) -> list[str]:
    """The prompts of a file with a line ``{"prompt": "…"}`` for each; other keys are ignored."""
    prompts = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            where = f"{path}:{number}"
            record = parse_json(line, where)
            prompt = record.get("prompt") if isinstance(record, dict) else None
            if not isinstance(prompt, str):
                raise ConfigError(f'{where}: expected {{"prompt": "…"}}, got {line[:60]!r}')
            prompts.append(prompt)
    if not prompts:
        raise ConfigError(f'{path} has no prompts; write a line {{"prompt": "…"}} for each')
    return prompts


def answers_in_order(engine: Engine, requests: Sequence[Request]) -> Iterator[Answer]:
    """The answer of each request, in their order; the engine ends them in another."""
    number_of = {id(request): number for number, request in enumerate(requests)}
    ended: dict[int, Answer] = {}
    following = 0
    for answer in engine.run(requests):
        ended[number_of[id(answer.request)]] = answer
        while following in ended:
            yield ended.pop(following)
            following += 1


class AnswersFile:
    """A file of answers, a line of JSON for each, that appears when all of them are known.

    Until then they are in ``NAME.partial``, after a line that says what was asked. A run that asks
    the same continues there.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any]) -> None:
        self.path = path
        self._partial = path.with_name(f"{path.name}.partial")
        self._first = json.dumps(asked, ensure_ascii=False, sort_keys=True).encode() + b"\n"
        if path.exists():
            if self._read().startswith(self._first):  # a run was killed when it had published it
                remove(self._partial)
            raise ConfigError(f"{path} exists; pass another file, or delete it")
        self.num = self._resume()

    def add(self, record: Mapping[str, Any]) -> None:
        """Write one more answer."""
        file = AppendedFile(self._partial)
        try:
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        finally:
            file.close()
        self.num += 1

    def publish(self) -> None:
        """Give the file its name."""
        with self._partial.open("rb") as partial, atomic_file(self.path) as file:
            for line in list(partial)[1:]:
                file.write(line)
        remove(self._partial)

    def _resume(self) -> int:
        """The number of answers that are there; a line without an end is removed."""
        data = self._read()
        whole = data[: data.rfind(b"\n") + 1]
        if whole.count(b"\n") < 2:
            file = AppendedFile(self._partial, keep=0)
            file.write(self._first)
            file.close()
            return 0
        if not whole.startswith(self._first):
            raise ConfigError(
                f"{self._partial} was begun with other prompts or options; pass another --out, or "
                "delete it"
            )
        AppendedFile(self._partial, keep=len(whole)).close()
        return whole.count(b"\n") - 1

    def _read(self) -> bytes:
        return self._partial.read_bytes() if self._partial.exists() else b""
