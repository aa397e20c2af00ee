"""Which kind of source a path is, and what is found in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from barrow.errors import NotFound
from barrow.images.decode import is_image
from barrow.stream.pairs.sources.folder import Captions, from_folder
from barrow.stream.pairs.sources.found import Found, LeftOut
from barrow.stream.pairs.sources.jsonl import from_jsonl
from barrow.stream.pairs.sources.parquet import from_parquet
from barrow.stream.pairs.sources.tars import from_tars


@dataclass(frozen=True)
class PairSource:
    """A source: its name in the index, its kind, and the folder that paths are relative to."""

    name: str
    kind: str
    root: Path
    files: tuple[Path, ...]

    def find(
        self, *, captions: Captions, image_key: str | None, caption_key: str | None
    ) -> Iterator[Found | LeftOut]:
        """What is in it, in a fixed order."""
        files = list(self.files)
        if self.kind == "tars":
            return from_tars(self.root, files, caption_key=caption_key)
        if self.kind == "parquet":
            keys = {"image_key": image_key, "caption_key": caption_key}
            return from_parquet(self.root, files, **keys)
        if self.kind == "jsonl":
            return from_jsonl(files[0], image_key=image_key, caption_key=caption_key)
        return from_folder(self.root, captions=captions)


def pair_source(path: Path) -> PairSource:
    """The source that a path is: a tar, a parquet file, JSON lines, or a folder of either tars,
    parquet files or images.
    """
    if path.is_file():
        kind = {".tar": "tars", ".parquet": "parquet", ".jsonl": "jsonl"}.get(path.suffix.lower())
        if kind is None:
            raise ValueError(
                f"{path}: expected a folder, .tar, .parquet or .jsonl of image–text pairs"
            )
        return PairSource(path.stem, kind, path.parent, (path,))
    if not path.is_dir():
        raise NotFound(f"{path}: no such file or folder of image–text pairs")
    name = path.resolve().name
    for suffix, kind in ((".tar", "tars"), (".parquet", "parquet")):
        files = sorted(path.rglob(f"*{suffix}"))
        if files:
            return PairSource(name, kind, path, tuple(files))
    if not any(is_image(file.name) for file in path.rglob("*")):
        raise NotFound(f"{path}: the folder has no images, no .tar and no .parquet files")
    return PairSource(name, "folder", path, ())
