"""An archive, open: iterate, index, slice, split."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar, overload

from barrow.archive.ahead import available_cores, map_ahead
from barrow.archive.bad import BadLog, OnBad
from barrow.archive.block import Block, read_block
from barrow.archive.buffers import BufferPool
from barrow.archive.document import Document
from barrow.archive.piece import Piece, Source
from barrow.archive.records import Parsed, RecordForm
from barrow.errors import ArchiveError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Reading:
    """How an archive is read; see `barrow.archive.open`."""

    form: RecordForm
    on_bad: OnBad
    rejects: str | None
    threads: int | None

    @property
    def num_threads(self) -> int:
        """Threads to read ahead with."""
        return min(4, available_cores()) if self.threads is None else self.threads


class Archive:
    """
    Documents of one or more files, in order.

    An archive, a slice of one and a rank's part of one are the same kind of thing: a list of files
    and the range of document numbers to read.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        reading: Reading,
        *,
        damage: Sequence[ArchiveError] = (),
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        self._sources = tuple(sources)
        self._reading = reading
        self._damage = tuple(damage)
        self._start = start
        self._stop = stop
        self.bad = BadLog()

    def __reduce__(self) -> tuple[Callable[..., Archive], tuple[Any, ...]]:
        rebuild = partial(Archive, damage=self._damage, start=self._start, stop=self._stop)
        return rebuild, (self._sources, self._reading)

    def __repr__(self) -> str:
        paths = [source.path for source in self._sources]
        named = repr(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
        part = "" if self._stop is None else f", documents {self._start:,} to {self._stop:,}"
        return f"<barrow.archive.Archive of {named}{part}>"

    @property
    def paths(self) -> list[str]:
        """The files, in reading order."""
        return [source.path for source in self._sources]

    @property
    def num_bytes(self) -> int:
        """Bytes of the files on disk, whatever part of them is read."""
        return sum(source.size for source in self._sources)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(source.num_documents for source in self._sources))

    @property
    def _range(self) -> tuple[int, int]:
        total = self._ends[-1] if self._ends else 0
        return min(self._start, total), total if self._stop is None else min(self._stop, total)

    def __len__(self) -> int:
        """Number of records; a file without our index is read through, once, to count them."""
        start, stop = self._range
        return stop - start

    # Iteration -----------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Document]:
        read = partial(self._reading.form.read, pool=BufferPool())
        for _, start, stop, parsed in self._each(read):
            self._note(parsed.bad)
            yield from _within(parsed, start, stop)

    def blocks(self) -> Iterator[Block]:
        """
        The documents as blocks of about a frame: one UTF-8 buffer, offsets, raw metas.

        A block stays valid for as long as it, or a view of its arrays, is held.
        """
        read = partial(read_block, form=self._reading.form, pool=BufferPool())
        for piece, start, stop, (block, bad) in self._each(read):
            self._note(bad)
            last = piece.first + piece.num_documents
            if start > piece.first or (stop is not None and stop < last):
                numbers = block.numbers
                kept = [
                    i for i, n in enumerate(numbers) if n >= start and (stop is None or n < stop)
                ]
                block = block[kept[0] : kept[-1] + 1] if kept else block[:0]
            if len(block):
                yield block

    def numpy(self) -> Iterator[tuple[npt.NDArray[np.uint8], dict[str, Any]]]:
        """Each document as an array of its UTF-8 bytes, and its meta."""
        for block in self.blocks():
            for i, meta in enumerate(block.metas()):
                yield block.text[block.offsets[i] : block.offsets[i + 1]], meta

    def frames(self) -> list[Frame]:
        """
        Parts for parallel work: each can be pickled, and read anywhere, on its own.

        A frame of ours is one part; a file without frames is one part as a whole.
        """
        return list(self._frames())

    def _frames(self) -> Iterator[Frame]:
        from barrow.archive.shard import Shard

        alone = replace(self._reading, threads=1)
        for source, start, stop in self._ranges():
            if not isinstance(source, Shard):
                yield Frame(Archive([source], alone, start=start, stop=stop))
                continue
            for piece in source.pieces(start, stop):
                if isinstance(piece, ArchiveError):
                    self._note([piece])
                    continue
                last = piece.first + piece.num_documents
                part = Archive(
                    [source],
                    alone,
                    start=max(start, piece.first),
                    stop=last if stop is None else min(stop, last),
                )
                yield Frame(part)

    def _each(
        self, read: Callable[[Piece], _Result]
    ) -> Iterator[tuple[Piece, int, int | None, _Result]]:
        """Apply `read` to the pieces in range, some ahead; deal with damage in its place."""
        self.bad = BadLog(self._reading.rejects)
        self._note(self._damage)

        def attempt(
            item: tuple[Piece | ArchiveError, int, int | None],
        ) -> tuple[Piece, int, int | None, _Result] | ArchiveError:
            piece, start, stop = item
            if isinstance(piece, ArchiveError):
                return piece
            try:
                return piece, start, stop, read(piece)
            except ArchiveError as error:
                return error

        for result in map_ahead(attempt, self._pieces(), threads=self._reading.num_threads):
            if isinstance(result, ArchiveError):
                self._note([result])
            else:
                yield result

    def _pieces(self) -> Iterator[tuple[Piece | ArchiveError, int, int | None]]:
        for source, start, stop in self._ranges():
            for piece in source.pieces(start, stop):
                yield piece, start, stop

    def _ranges(self) -> Iterator[tuple[Source, int, int | None]]:
        """Each file with the numbers, within it, of the documents to read."""
        if self._start == 0 and self._stop is None:
            for source in self._sources:
                yield source, 0, None
            return
        start, stop = self._range
        for source, end in zip(self._sources, self._ends, strict=True):
            first = end - source.num_documents
            if end > start and first < stop:
                yield source, max(0, start - first), min(end, stop) - first

    def _note(self, errors: Iterable[ArchiveError]) -> None:
        for error in errors:
            if self._reading.on_bad == "raise":
                raise error
            self.bad.add(error)

    # Access by number ----------------------------------------------------------------------------

    @overload
    def __getitem__(self, item: int) -> Document: ...
    @overload
    def __getitem__(self, item: slice) -> Archive: ...
    def __getitem__(self, item: int | slice) -> Document | Archive:
        """Document i, or the archive of documents a to b."""
        if isinstance(item, slice):
            start, stop, step = item.indices(len(self))
            if step != 1:
                raise ValueError("archives are sliced in steps of 1; use shard(rank, of) to split")
            return self._part(start, max(start, stop))
        number = operator.index(item)
        length = len(self)
        if not -length <= number < length:
            raise IndexError(f"document {number} of {length:,}")
        return self._document(self._range[0] + number % length)

    def shard(self, rank: int, of: int) -> Archive:
        """Part `rank` of `of` parts: disjoint, together everything, in order, of even length."""
        if of < 1 or not 0 <= rank < of:
            raise ValueError(f"rank is from 0 to of - 1, not {rank} of {of}")
        return self._part(len(self) * rank // of, len(self) * (rank + 1) // of)

    def with_threads(self, threads: int | None) -> Archive:
        """The same, read with so many threads."""
        return Archive(
            self._sources,
            replace(self._reading, threads=threads),
            damage=self._damage,
            start=self._start,
            stop=self._stop,
        )

    def _part(self, start: int, stop: int) -> Archive:
        offset = self._range[0]
        return Archive(
            self._sources,
            self._reading,
            damage=self._damage,
            start=offset + start,
            stop=offset + stop,
        )

    def _document(self, number: int) -> Document:
        k = bisect_right(self._ends, number)
        source = self._sources[k]
        within = number - (self._ends[k] - source.num_documents)
        for piece in source.pieces(within, within + 1):
            if isinstance(piece, ArchiveError):
                if piece.document == within:
                    raise piece
                continue
            parsed = _parse_one(piece, within, self._reading.form)
            for error in parsed.bad:
                raise error
            for document in parsed.documents:
                return document
        raise IndexError(f"document {number} is in no readable frame of {source.path}")

    # The same documents, in other frameworks -----------------------------------------------------

    def torch(self, *, rank: int | None = None, of: int | None = None) -> Any:
        """A `torch.utils.data.IterableDataset` that splits over ranks and workers."""
        from barrow.archive.views.torch import TorchView

        return TorchView(self, rank=rank, of=of)

    def tf(self) -> Any:
        """A `tf.data.Dataset` of ``{"text": string, "meta": JSON string}``."""
        from barrow.archive.views.tf import tf_view

        return tf_view(self)

    def huggingface(self) -> Any:
        """A streaming `datasets.IterableDataset` that keeps `meta`."""
        from barrow.archive.views.huggingface import huggingface_view

        return huggingface_view(self)


@dataclass(frozen=True)
class Frame:
    """A part of an archive that is read on its own."""

    part: Archive

    def __iter__(self) -> Iterator[Document]:
        return iter(self.part)

    def __len__(self) -> int:
        return len(self.part)

    def blocks(self) -> Iterator[Block]:
        """Its documents as blocks; one block for a frame of ours."""
        return self.part.blocks()


def _parse_one(piece: Piece, number: int, form: RecordForm) -> Parsed:
    """Decode a piece but parse only one of its lines."""
    buffer = bytearray(piece.size)
    piece.load(memoryview(buffer))
    lines = bytes(buffer)
    if lines.count(b"\n") != piece.num_documents:  # blank lines between the records
        lines = b"".join(line + b"\n" for line in lines.split(b"\n") if line.strip())
    at = 0
    for _ in range(number - piece.first):
        at = lines.index(b"\n", at) + 1
    end = lines.find(b"\n", at)
    line = lines[at : end if end >= 0 else len(lines)]
    return form.parse(line, replace(piece, first=number, num_documents=1, size=len(line)))


def _within(parsed: Parsed, start: int, stop: int | None) -> Iterable[Document]:
    numbers = parsed.numbers
    if not numbers or (numbers[0] >= start and (stop is None or numbers[-1] < stop)):
        return parsed.documents
    return (
        document
        for number, document in zip(numbers, parsed.documents, strict=True)
        if number >= start and (stop is None or number < stop)
    )
