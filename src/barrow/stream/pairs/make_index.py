"""Making an index: sources are scanned once, and every pair gets a number."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from barrow import config
from barrow.ahead import available_cores, map_ahead
from barrow.errors import BadImage, NotFound, UnsafeName
from barrow.files import AtomicFile, atomic_file, inside, make_folder, portable, remove, write_bytes
from barrow.images import LIMITS, Limits, centre_square, decode
from barrow.stream.pairs.index import PairIndex, open_index
from barrow.stream.pairs.index_file import (
    LEFT_OUT,
    MANIFEST,
    DomainEntry,
    IndexFile,
    TableWriter,
    blob_name,
)
from barrow.stream.pairs.sources.folder import Captions
from barrow.stream.pairs.sources.found import Found, LeftOut
from barrow.stream.pairs.sources.open import PairSource, pair_source

Path_ = str | os.PathLike[str]


def index_pairs(
    sources: Path_ | Sequence[Path_],
    out: Path_,
    *,
    captions: Captions = "auto",
    image_key: str | None = None,
    caption_key: str | None = None,
    check: bool = False,
    outside: bool = False,
    limits: Limits = LIMITS,
    threads: int | None = None,
    on_progress: Callable[[int], None] = lambda _: None,
) -> PairIndex:
    """Write the index of some sources to the folder `out`, and open it.

    With `check`, every image is decoded, and one that is broken is left out; without, it raises
    `BadImage` when a batch needs it. A file outside its source's folder, by its path or by a link,
    is left out too unless `outside` allows it. What is left out is counted by reason and named in
    the folder.
    """
    given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    found = [pair_source(Path(path)) for path in given]
    names = [source.name for source in found]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"sources must have different file or folder names, got {', '.join(names) or 'none'}"
        )
    folder = make_folder(out)
    remove(folder / MANIFEST)  # until the new one is complete, there is none
    counts: Counter[str] = Counter()
    domains = []
    total_bytes = 0
    with ExitStack() as stack:
        table = stack.enter_context(TableWriter(folder))
        left_out = stack.enter_context(atomic_file(folder / LEFT_OUT))
        for number, source in enumerate(found):
            things = source.find(captions=captions, image_key=image_key, caption_key=caption_key)
            if not outside:
                things = _within(things, source.root)
            if check:
                things = _checked(
                    things, source, limits, available_cores() if threads is None else threads
                )
            blob = _Blob(folder / blob_name(number))
            stack.callback(blob.discard)
            pairs = _add_all(things, table, blob, left_out, source.name, counts, on_progress)
            blob.publish()
            total_bytes += pairs[1]
            root = portable(str(source.root.resolve()), folder)
            domains.append(DomainEntry(source.name, source.kind, root, pairs[0], blob.size))
        captions_total = table.num_captions
        written = table.write()
    manifest = IndexFile(
        domains=tuple(domains),
        pairs=sum(domain.pairs for domain in domains),
        captions=captions_total,
        image_bytes=total_bytes,
        is_checked=check,
        is_outside=outside,
        sha256=written.sha256,
        left_out=dict(sorted(counts.items())),
    )
    if not manifest.pairs:
        reasons = ", ".join(f"{count} × {reason}" for reason, count in counts.items())
        raise NotFound(f"no image–text pair in {', '.join(map(str, given))} ({reasons or 'empty'})")
    write_bytes(folder / MANIFEST, config.to_json(manifest).encode())
    return open_index(folder)


def _add_all(
    things: Iterator[Found | LeftOut],
    table: TableWriter,
    blob: _Blob,
    left_out: AtomicFile,
    domain: str,
    counts: Counter[str],
    on_progress: Callable[[int], None],
) -> tuple[int, int]:
    """Number of pairs, and bytes of their images."""
    num_pairs = num_bytes = 0
    for thing in things:
        if isinstance(thing, LeftOut):
            counts[thing.reason] += 1
            entry = {"source": domain, "name": thing.name, "reason": thing.reason}
            left_out.write(json.dumps({**entry, "cause": thing.cause}).encode() + b"\n")
            continue
        place = thing.offset, thing.length
        if thing.data is not None:
            place = blob.add(thing.data), len(thing.data)
        table.add(thing.name, thing.captions, thing.file, place)
        num_pairs += 1
        num_bytes += place[1]
        on_progress(1)
    return num_pairs, num_bytes


class _Blob:
    """A file of copied images, made when the first comes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: AtomicFile | None = None
        self.size = 0
        remove(path)

    def add(self, data: bytes) -> int:
        """Append bytes; where they begin."""
        if self._file is None:
            self._file = AtomicFile(self._path, hashed=False)
        self._file.write(data)
        self.size += len(data)
        return self.size - len(data)

    def publish(self) -> None:
        """Give the file its name."""
        if self._file is not None:
            self._file.publish()

    def discard(self) -> None:
        """Remove it, unless it has its name."""
        if self._file is not None:
            self._file.discard()


def _within(things: Iterator[Found | LeftOut], root: Path) -> Iterator[Found | LeftOut]:
    """The same in the same order, but files that are not under the root are left out."""
    for thing in things:
        try:
            if isinstance(thing, Found) and thing.data is None:
                inside(root, thing.file)
            yield thing
        except UnsafeName as error:
            yield LeftOut(thing.name, "outside", f"{error}; --outside (outside=True) allows it")


def _checked(
    things: Iterator[Found | LeftOut], source: PairSource, limits: Limits, threads: int
) -> Iterator[Found | LeftOut]:
    """The same in the same order, but broken images are left out."""

    def look(thing: Found | LeftOut) -> Found | LeftOut:
        if isinstance(thing, LeftOut):
            return thing
        try:
            data = _bytes(thing, source) if thing.data is None else thing.data
            image = decode(data, name=thing.name, limits=limits)
            centre_square(image, resolution=8, name=thing.name)
        except BadImage as error:
            return LeftOut(thing.name, error.reason, error.cause)
        return thing

    return map_ahead(look, things, threads=threads, depth=4 * threads)


def _bytes(thing: Found, source: PairSource) -> bytes:
    try:
        with (source.root / thing.file).open("rb") as file:
            file.seek(thing.offset)
            return file.read(thing.length)
    except OSError as error:
        raise BadImage(str(error.strerror), reason="missing", name=thing.name) from None
