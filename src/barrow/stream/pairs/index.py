"""An index of image–text pairs, open: any pair by its number, without reading the others."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from barrow import config
from barrow.errors import BadImage, ConfigError, NotFound, StoreError, UnsafeName
from barrow.files import inside, resolved
from barrow.stream.pairs.index_file import COLUMNS, MANIFEST, TABLE, IndexFile, blob_name


def open_index(
    path: str | os.PathLike[str], *, roots: Mapping[str, str | os.PathLike[str]] | None = None
) -> PairIndex:
    """Open an index; `roots` gives the new folder of a source whose files were moved."""
    folder = Path(path)
    file = folder / MANIFEST
    if not file.is_file():
        raise NotFound(
            f"{folder} is not an index of pairs: it has no {MANIFEST}; "
            "barrow tokens pairs index makes one"
        )
    try:
        manifest = config.from_json(IndexFile, file.read_text(encoding="utf-8"), where=file)
    except (ConfigError, UnicodeDecodeError) as error:
        raise StoreError(
            f"not written by barrow tokens pairs index ({error}); make the index again",
            reason="corrupt",
            file=str(file),
        ) from None
    domains = (replace(one, root=resolved(one.root, folder)) for one in manifest.domains)
    manifest = replace(manifest, domains=tuple(domains))
    names = [domain.name for domain in manifest.domains]
    for name in roots or {}:
        if name not in names:
            raise ValueError(f"the index has no source {name!r}; there are {', '.join(names)}")
    return PairIndex(folder, manifest, {name: Path(root) for name, root in (roots or {}).items()})


class PairIndex:
    """Pairs, numbered over all sources: one source after another, each in its own order."""

    def __init__(self, folder: Path, manifest: IndexFile, roots: Mapping[str, Path]) -> None:
        from barrow.tokens.store.array_file import map_arrays

        self.folder = folder
        self.manifest = manifest
        self.domains = tuple(domain.name for domain in manifest.domains)
        self.num_pairs = manifest.pairs
        self._moved = dict(roots)
        self._roots = [roots.get(domain.name, Path(domain.root)) for domain in manifest.domains]
        self._firsts = list(accumulate((domain.pairs for domain in manifest.domains), initial=0))
        if not (folder / TABLE).is_file():
            raise StoreError(
                "the table is missing; make the index again", reason="missing", file=TABLE
            )
        self._table, _ = map_arrays(folder / TABLE, COLUMNS)
        lengths = {len(self._table[name]) for name in ("offset", "length", "file", "name_ends")}
        lengths |= {len(self._table["first_caption"]) - 1, self._firsts[-1]}
        if lengths != {manifest.pairs}:
            raise StoreError(
                f"expected {manifest.pairs:,} pairs, found columns of {sorted(lengths)}; make "
                "the index again",
                reason="wrong-size",
                file=TABLE,
            )

    def __reduce__(self) -> tuple[Callable[..., PairIndex], tuple[Any, ...]]:
        return PairIndex, (self.folder, self.manifest, self._moved)

    def __repr__(self) -> str:
        return (
            f"<barrow.stream.pairs.PairIndex {str(self.folder)!r}: {self.num_pairs:,} pairs, "
            f"{len(self.domains)} sources>"
        )

    @cached_property
    def identity(self) -> str:
        """A hash of the contents: of the table, and of the sources' names and sizes."""
        import hashlib

        sizes = [f"{one.name} {one.pairs}" for one in self.manifest.domains]
        return hashlib.sha256("\n".join([self.manifest.sha256, *sizes]).encode()).hexdigest()

    @property
    def sizes(self) -> dict[str, int]:
        """Pairs of each source."""
        return {domain.name: domain.pairs for domain in self.manifest.domains}

    @property
    def ranges(self) -> tuple[range, ...]:
        """The numbers of each source's pairs."""
        return tuple(
            range(first, last) for first, last in zip(self._firsts, self._firsts[1:], strict=False)
        )

    def domain_of(self, pair: int) -> str:
        """The source of a pair."""
        return self.domains[self._domain(pair)]

    def name(self, pair: int) -> str:
        """The name of a pair's image: its path, and its place within a tar or table."""
        self._check(pair)
        return self._text("name", pair) or self._text("file", int(self._table["file"][pair]))

    def captions(self, pair: int) -> tuple[str, ...]:
        """All captions of a pair; there is at least one."""
        self._check(pair)
        first, last = self._table["first_caption"][pair : pair + 2].tolist()
        return tuple(self._text("caption", number) for number in range(first, last))

    def read(self, pair: int) -> bytes:
        """The bytes of a pair's image. `BadImage` if its file is gone or changed."""
        domain = self._domain(pair)
        offset, length = int(self._table["offset"][pair]), int(self._table["length"][pair])
        file = self._text("file", int(self._table["file"][pair]))
        root, file_name = (self._roots[domain], file) if file else (self.folder, blob_name(domain))
        try:
            is_free = bool(file) and self.manifest.is_outside
            path = root / file_name if is_free else inside(root, file_name)
            with path.open("rb", buffering=0) as raw:
                is_whole = bool(file) and self.manifest.domains[domain].kind != "tars"
                size = os.fstat(raw.fileno()).st_size
                if offset + length > size or (is_whole and size != length):
                    raise BadImage(
                        f"expected {length:,} bytes at {offset:,} of {path}, which has "
                        f"{size:,}: it changed after the index was made; make the index "
                        "again",
                        reason="changed",
                        name=self.name(pair),
                    )
                return os.pread(raw.fileno(), length, offset)
        except UnsafeName as error:
            raise BadImage(
                f"{error}; to allow it, make the index again with --outside",
                reason="outside",
                name=self.name(pair),
            ) from None
        except OSError as error:
            raise BadImage(
                f"{path}: {error.strerror}; restore it, pass its new place (roots=), or "
                "make the index again",
                reason="missing",
                name=self.name(pair),
            ) from None

    def _domain(self, pair: int) -> int:
        self._check(pair)
        return bisect_right(self._firsts, pair) - 1

    def _check(self, pair: int) -> None:
        if not 0 <= pair < self.num_pairs:
            raise IndexError(
                f"expected the number of a pair, 0 to {self.num_pairs - 1}, got {pair}"
            )

    def _text(self, what: str, number: int) -> str:
        ends: npt.NDArray[np.uint64] = self._table[f"{what}_ends"]
        first = int(ends[number - 1]) if number else 0
        data: bytes = self._table[f"{what}s"][first : int(ends[number])].tobytes()
        return data.decode("utf-8", "surrogateescape")
