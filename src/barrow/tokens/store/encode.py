"""The stage that tokenizes: part of an archive's file to token files, each of a bounded size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

import barrow.archive
from barrow.archive import Block
from barrow.archive.document import identity_of
from barrow.engine import File, Outputs, Stage
from barrow.errors import StoreError
from barrow.tokens.load import load
from barrow.tokens.store.pieces import Piece
from barrow.tokens.store.reference_check import ReferenceCheck
from barrow.tokens.store.token_file import write_token_file
from barrow.tokens.tokenizer import Tokenizer, offsets_of

UNKNOWN = "unknown"

# Kept for a document besides its ids: offset, two halves of the id, number.
_DOCUMENT_BYTES = 32


class _Meta(msgspec.Struct):
    pile_set_name: Any = None
    id: Any = None


_METAS = msgspec.json.Decoder(list[_Meta])


@dataclass(frozen=True)
class Settings:
    """Documents `start` to `stop` (None: the last) of a file that pieces call `source`.

    The hash of the tokenizer does not cover the ids that begin and end a document.
    """

    source: str
    start: int
    stop: int | None
    text_key: str
    tokenizer: str
    begin: int | None
    end: int | None
    dtype: str
    buffer_bytes: int


@dataclass(frozen=True)
class Inputs:
    """A file of documents, and the folder of a tokenizer."""

    documents: File
    tokenizer: File


class Encoded(Outputs):
    """Token files, numbered."""

    def part(self, number: int) -> Path:
        """Token file `number`."""
        return self.folder / f"{number:05d}.safetensors"

    def parts(self) -> list[Path]:
        """All that were written, in their order."""
        return sorted(self.folder.iterdir())


def encode(settings: Settings, inputs: Inputs, out: Encoded) -> None:
    """Tokenize documents.

    Whenever `buffer_bytes` are full, they are written as a file: its documents by domain, those of
    a domain in the order of the archive.
    """
    tokenizer = _loaded(inputs.tokenizer.path, settings.tokenizer, settings.begin, settings.end)
    archive = barrow.archive.open(inputs.documents, text_key=settings.text_key, threads=1)
    if settings.stop is not None:
        archive = archive[settings.start : settings.stop]
    check = ReferenceCheck(tokenizer)
    buffer = _Buffer(settings.source, settings.start, np.dtype(settings.dtype))
    for block in archive.blocks():
        ids, offsets = _encode_block(block, tokenizer)
        check.look_at(block, ids, offsets)
        framed = frame_ids(ids, offsets, begin=tokenizer.begin, end=tokenizer.end)
        buffer.add(block, *framed)
        if buffer.num_bytes >= settings.buffer_bytes:
            buffer.write_to(out)
    buffer.write_to(out)


ENCODE = Stage("tokens.encode", 1, encode, Encoded)


@lru_cache(maxsize=1)
def _loaded(folder: Path, wanted: str, begin: int | None, end: int | None) -> Tokenizer:
    """A worker has one tokenizer, and loading it may take longer than a task."""
    tokenizer = load(folder)
    found = tokenizer.hash, tokenizer.begin, tokenizer.end
    if found != (wanted, begin, end):
        raise StoreError(
            f"expected the tokenizer {wanted}, which begins documents with {begin} and "
            f"ends them with {end}; found {found[0]}, {found[1]} and {found[2]}: was it "
            "changed in the meantime?",
            reason="other-tokenizer",
            file=folder.name,
        )
    return tokenizer


def _encode_block(
    block: Block, tokenizer: Tokenizer
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    first, last = int(block.offsets[0]), int(block.offsets[-1])
    ids, offsets = tokenizer.encode_texts(block.text[first:last], block.offsets - first)
    if len(ids) and int(ids.max()) >= tokenizer.vocab_size:
        at = int(np.argmax(ids >= tokenizer.vocab_size))
        document = block.numbers[int(np.searchsorted(offsets, at, "right")) - 1]
        raise StoreError(
            f"document {document:,}: id {int(ids[at]):,}, but the tokenizer's vocabulary "
            f"has {tokenizer.vocab_size:,} ids; do its files match?",
            reason="id-over-vocabulary",
            file=block.shard,
        )
    return ids, offsets


class _Buffer:
    """Documents that are not written yet."""

    def __init__(self, source: str, part: int, dtype: np.dtype[Any]) -> None:
        self._source = source
        self._part = part
        self._dtype = dtype
        self._flush = 0
        self._clear()

    def _clear(self) -> None:
        self._ids: list[npt.NDArray[Any]] = []
        self._lengths: list[npt.NDArray[np.int64]] = []
        self._sizes: list[npt.NDArray[np.int64]] = []
        self._numbers: list[npt.NDArray[np.uint64]] = []
        self._identities: list[npt.NDArray[np.uint64]] = []
        self._domains: list[npt.NDArray[np.int64]] = []
        self._places: dict[str, int] = {}
        self.num_bytes = 0

    def add(
        self, block: Block, ids: npt.NDArray[np.uint32], offsets: npt.NDArray[np.int64]
    ) -> None:
        """Take the documents of a block."""
        self._ids.append(ids.astype(self._dtype))
        self._lengths.append(np.diff(offsets))
        self._sizes.append(np.diff(block.offsets))
        # Arrays, not Python objects: a block of one-word documents has very many.
        self._numbers.append(np.array(block.numbers, np.uint64))
        metas = _METAS.decode(block.meta_array())
        identities = [identity_of(meta.id) for meta in metas]
        self._identities.append(np.array(identities, np.uint64).reshape(-1, 2))
        places = [self._places.setdefault(_domain(meta), len(self._places)) for meta in metas]
        self._domains.append(np.array(places, np.int64))
        self.num_bytes += len(ids) * self._dtype.itemsize + len(block) * _DOCUMENT_BYTES

    def write_to(self, out: Encoded) -> None:
        """Write the documents, if any, to a file, and start again."""
        if not self._places:
            return
        names = sorted(self._places)
        rank = np.argsort([self._places[name] for name in names])
        domain = rank[np.concatenate(self._domains)]
        order = np.argsort(domain, kind="stable")
        lengths, sizes = np.concatenate(self._lengths), np.concatenate(self._sizes)
        ids, starts = np.concatenate(self._ids), offsets_of(lengths)
        self._ids.clear()
        bounds = zip(starts[order].tolist(), starts[order + 1].tolist(), strict=True)
        slices = (ids[start:stop] for start, stop in bounds)
        # Where each domain begins in the order, and the last ends: there may be many domains.
        edges = np.searchsorted(domain[order], np.arange(len(names) + 1))
        tokens, text_bytes = offsets_of(lengths[order])[edges], offsets_of(sizes[order])[edges]
        counts = zip(*(np.diff(a).tolist() for a in (edges, tokens, text_bytes)), strict=True)
        pieces = [
            Piece(self._source, self._part, self._flush, name, *count)
            for name, count in zip(names, counts, strict=True)
        ]
        write_token_file(
            out.part(self._flush),
            pieces,
            offsets=[offsets_of(lengths[order]).view(np.uint64)],
            identity=[np.concatenate(self._identities)[order]],
            number=[np.concatenate(self._numbers)[order]],
            # A domain at a time: the buffer is in memory twice already.
            ids=(np.concatenate([*islice(slices, piece.documents)]) for piece in pieces),
            dtype=self._dtype,
        )
        self._flush += 1
        self._clear()


def _domain(meta: _Meta) -> str:
    name = meta.pile_set_name
    return name if isinstance(name, str) and name else UNKNOWN


def frame_ids(
    ids: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.int64],
    *,
    begin: int | None,
    end: int | None,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Each document's ids with `begin` before and `end` after them, and where they are now.

    A document without ids stays without: there is nothing in it to learn or to predict.
    """
    lengths = np.diff(offsets)
    full = np.flatnonzero(lengths)
    ends = [(place, id_) for place, id_ in ((0, begin), (1, end)) if id_ is not None]
    # Between two documents the end of one comes first; insert keeps the order of equal places.
    places = np.stack([offsets[full + place] for place, _ in ends], 1) if ends else offsets[:0]
    values = np.tile(np.array([id_ for _, id_ in ends], np.uint32), len(full))
    lengths[full] += len(ends)
    return np.insert(ids, places.ravel(), values), offsets_of(lengths)
