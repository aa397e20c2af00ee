"""Small pictures with captions, made here, in every kind of source."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from barrow.stream import Stream
from barrow.stream.pairs import PairBatch, PairIndex, PairSettings, index_pairs


def pixels(number: int) -> np.ndarray:
    """A picture that tells its number: noise of its own."""
    shape = (12 + number % 5, 10 + number % 7, 3)
    return np.random.default_rng(number).integers(0, 256, shape, np.uint8)


def png(number: int) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels(number)).save(out, "PNG")
    return out.getvalue()


def captions(number: int) -> list[str]:
    """One to three."""
    return [f"caption {k} of {number}" for k in range(1 + number % 3)]


def write_tar(path: Path, members: Sequence[tuple[str, bytes]], **options: object) -> None:
    with tarfile.open(path, "w", **options) as tar:  # type: ignore[call-overload]
        for name, data in members:
            told = tarfile.TarInfo(name)
            told.size = len(data)
            tar.addfile(told, io.BytesIO(data))


class Words:
    """An encoder whose rows tell the text: its characters, as numbers."""

    context = 24
    hash = "words"

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        out = np.zeros((len(texts), self.context), np.int32)
        for row, text in zip(out, texts, strict=True):
            codes = [ord(letter) for letter in text[: self.context]]
            row[: len(codes)] = codes
        return out


def said(row: np.ndarray) -> str:
    return "".join(chr(code) for code in row if code)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """A source of some kind with pairs [first, last)."""

    def make(kind: str, name: str = "source", first: int = 0, last: int = 20) -> Path:
        numbers = range(first, last)
        folder = tmp_path / name
        folder.mkdir()
        if kind == "folder":
            for n in numbers:
                (folder / f"{n:03}.png").write_bytes(png(n))
                (folder / f"{n:03}.txt").write_text("\n".join(captions(n)) + "\n")
            return folder
        if kind == "jsonl":
            (folder / "images").mkdir()
            lines = []
            for n in numbers:
                (folder / "images" / f"{n}.png").write_bytes(png(n))
                lines.append(json.dumps({"path": f"images/{n}.png", "captions": captions(n)}))
            (folder / "pairs.jsonl").write_text("\n".join(lines) + "\n")
            return folder / "pairs.jsonl"
        if kind == "tars":
            half = (first + last) // 2
            for part, some in enumerate((range(first, half), range(half, last))):
                members = []
                for n in some:
                    told = json.dumps({"captions": captions(n)}).encode()
                    text = "\n".join(captions(n)).encode()
                    beside = (f"a/{n:03}.json", told) if n % 2 else (f"a/{n:03}.txt", text)
                    members += [(f"a/{n:03}.png", png(n)), beside]
                write_tar(folder / f"{part}.tar", members)
            return folder
        import pyarrow as pa
        import pyarrow.parquet as pq

        images = [png(n) for n in numbers]
        table = pa.table({"image": images, "caption": [captions(n) for n in numbers]})
        pq.write_table(table, folder / "a.parquet", row_group_size=7)
        return folder

    return make


@pytest.fixture
def index(make: Callable, tmp_path: Path) -> PairIndex:
    sources = [make("tars", "one", 0, 14), make("folder", "two", 14, 20)]
    return index_pairs(sources, tmp_path / "index")


def stream_of(index: PairIndex, **options: Any) -> Stream[PairBatch]:
    """Of an encoder that tells the text, unless settings or options say otherwise."""
    opened = {name: options.pop(name) for name in ("limits", "threads") if name in options}
    settings = PairSettings(**{"seed": 3, "batch": 6, "resolution": 8, **options})
    return Stream(settings.open(index, texts=Words(), **opened))


def same(one: object, other: object) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("images", "texts", "mask", "pairs", "captions")
    )
