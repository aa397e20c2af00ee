"""An open archive: iterate, index, slice, split."""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar, overload

from barrow.ahead import available_cores, map_ahead
from barrow.archive.bad_records import BadLog, OnBad
from barrow.archive.block import Block, read_block
from barrow.archive.buffers import BufferPool
from barrow.archive.document import Document
from barrow.archive.piece import Piece, Source, count_lines, is_blank
from barrow.archive.records import Parsed, RecordForm
from barrow.archive.shard import Shard
from barrow.errors import ArchiveError, BadRecord, MissingExtra

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
    """Documents of one or more files, in order.

    An archive, a slice of one and a rank's part of one are all a list of files with the range of
    document numbers to read.
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
    def is_part(self) -> bool:
        """Whether this is a slice or a rank's part of the files."""
        return self._start > 0 or self._stop is not None

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
        """Number of records; a file without an index is read once to count them."""
        start, stop = self._range
        return stop - start

    # Iteration -----------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Document]:
        form = self._reading.form
        # Decompressing and scanning release the GIL, so they run ahead on threads; making strings
        # does not, and is done here.
        for span, loaded in self._each(partial(form.load, pool=BufferPool())):
            try:
                parsed = form.finish(loaded)
            except ArchiveError as error:
                self._note([error] if span.holds(error) else [])
                continue
            self._note(error for error in parsed.bad if span.holds(error))
            yield from span.cut(parsed)

    def blocks(self) -> Iterator[Block]:
        """The documents as blocks of about a frame: one UTF-8 buffer, offsets, raw metas.

        A block stays valid for as long as it, or a view of its arrays, is held.
        """
        read = partial(read_block, form=self._reading.form, pool=BufferPool())
        for span, (block, bad) in self._each(read):
            self._note(error for error in bad if span.holds(error))
            first, last = span.within(block.numbers)
            if first < last:
                yield block[first:last] if last - first < len(block) else block

    def numpy(self) -> Iterator[tuple[npt.NDArray[np.uint8], dict[str, Any]]]:
        """Each document as an array of its UTF-8 bytes, and its meta."""
        for block in self.blocks():
            for i, meta in enumerate(block.metas()):
                yield block.text[block.offsets[i] : block.offsets[i + 1]], meta

    def frames(self) -> list[Frame]:
        """Parts for parallel work: each can be pickled and read on its own.

        Each frame of a shard is one part; a file without frames is one part.
        """
        return list(self._frames())

    def _frames(self) -> Iterator[Frame]:
        self.bad = BadLog(self._reading.rejects)
        self._note(self._damage)
        alone = replace(self._reading, threads=1)
        for source, span in self._spans():
            if not isinstance(source, Shard):
                yield Frame(Archive([source], alone, start=span.start, stop=span.stop))
                continue
            for piece in source.pieces(span.start, span.stop):
                last = piece.first + piece.num_documents
                start = max(span.start, piece.first)
                stop = last if span.stop is None else min(span.stop, last)
                yield Frame(Archive([source], alone, start=start, stop=stop))

    def _each(self, read: Callable[[Piece], _Result]) -> Iterator[tuple[_Span, _Result]]:
        """Apply `read` to the pieces in range, some ahead; deal with damage in its place."""
        self.bad = BadLog(self._reading.rejects)
        self._note(self._damage)

        def attempt(
            item: tuple[_Span, Piece | ArchiveError],
        ) -> tuple[_Span, _Result | ArchiveError]:
            span, piece = item
            if isinstance(piece, ArchiveError):
                return span, piece
            try:
                return span, read(piece)
            except ArchiveError as error:
                return span, error

        for span, result in map_ahead(attempt, self._pieces(), threads=self._reading.num_threads):
            if not isinstance(result, ArchiveError):
                yield span, result
            elif span.holds(result):
                self._note([result])

    def _pieces(self) -> Iterator[tuple[_Span, Piece | ArchiveError]]:
        for source, span in self._spans():
            for piece in source.pieces(span.start, span.stop):
                yield span, piece

    def _spans(self) -> Iterator[tuple[Source, _Span]]:
        """Each file with the numbers, within it, of the documents to read."""
        if not self.is_part:
            for source in self._sources:
                yield source, _Span(0, None)
            return
        start, stop = self._range
        total = self._ends[-1] if self._ends else 0
        for source, end in zip(self._sources, self._ends, strict=True):
            first = end - source.num_documents
            # A file in which no record can be counted is read by the part it falls into.
            at_the_end = first == total == stop
            if max(first, start) < min(end, stop) or (
                first == end and (start <= first < stop or at_the_end)
            ):
                yield source, _Span(max(0, start - first), None if stop >= end else stop - first)

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
                raise ValueError(
                    "an archive can only be sliced with step 1; use shard(rank, of) to split it"
                )
            return self._part(start, max(start, stop))
        number = operator.index(item)
        length = len(self)
        if not -length <= number < length:
            raise IndexError(f"document {number} is out of range: the archive has {length:,}")
        return self._document(self._range[0] + number % length)

    def shard(self, rank: int, of: int) -> Archive:
        """Part `rank` of `of` parts: disjoint, together everything, in order, of even length."""
        if of < 1 or not 0 <= rank < of:
            raise ValueError(f"rank must be from 0 to of - 1, got rank={rank}, of={of}")
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
            # Errors found at opening are reported once, by the part with the first document.
            damage=self._damage if start == 0 else (),
            start=offset + start,
            stop=offset + stop,
        )

    def _document(self, number: int) -> Document:
        k = bisect_right(self._ends, number)
        source = self._sources[k]
        within = number - (self._ends[k] - source.num_documents)
        span = _Span(within, within + 1)
        for piece in source.pieces(within, within + 1):
            if isinstance(piece, ArchiveError):
                if isinstance(piece, BadRecord) and span.holds(piece):
                    raise piece
                continue
            parsed = _parse_one(piece, within, self._reading.form)
            for error in parsed.bad:
                raise error
            return parsed.documents[0]
        raise IndexError(f"document {number} is in a damaged part of {source.path}")

    # The same documents, in other frameworks -----------------------------------------------------

    def jax(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Each document as a JAX array of its UTF-8 bytes, and its meta."""
        try:
            import jax.numpy as jnp
        except ImportError:
            raise MissingExtra("JAX", "train", "archive.jax()") from None
        return ((jnp.array(text), meta) for text, meta in self.numpy())

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
        """Its documents as blocks; one block for a frame of a shard."""
        return self.part.blocks()


@dataclass(frozen=True, slots=True)
class _Span:
    """Document numbers within a file, from `start` to `stop` or to the end."""

    start: int
    stop: int | None

    def holds(self, error: ArchiveError) -> bool:
        """Whether an error concerns documents in here."""
        if error.document is None:
            return True
        last = error.document + max(1, error.num_documents or 1)
        return last > self.start and (self.stop is None or error.document < self.stop)

    def within(self, numbers: Sequence[int]) -> tuple[int, int]:
        """Which of some ascending numbers are in here: from one index to another."""
        last = len(numbers) if self.stop is None else bisect_left(numbers, self.stop)
        return bisect_left(numbers, self.start), last

    def cut(self, parsed: Parsed) -> Sequence[Document]:
        """The documents that are in here."""
        first, last = self.within(parsed.numbers)
        whole = last - first == len(parsed.documents)
        return parsed.documents if whole else parsed.documents[first:last]


def _parse_one(piece: Piece, number: int, form: RecordForm) -> Parsed:
    """Decode a piece, but parse only one of its lines."""
    lines = piece.lines()
    if lines.count(b"\n") != piece.num_documents:  # blank lines, or none at the end
        if count_lines(lines) != piece.num_documents:
            return form.parse(lines, piece)  # which raises what is wrong
        lines = b"".join(line + b"\n" for line in lines.split(b"\n") if not is_blank(line))
    at = 0
    for _ in range(number - piece.first):
        at = lines.index(b"\n", at) + 1
    line = lines[at : lines.index(b"\n", at)]
    return form.parse(line, replace(piece, first=number, num_documents=1, size=len(line)))
