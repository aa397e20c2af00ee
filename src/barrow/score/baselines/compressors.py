"""Compressors as models: a compressed text's size is its bits.

By name each document is compressed alone, as a model sees it. ``whole:`` before a name compresses
all the documents of a domain joined, with nothing between them: it sees other documents, so it
gives one figure for a domain, and its card records this.
"""

from __future__ import annotations

import hashlib
import tempfile
import weakref
from collections.abc import Sequence
from typing import BinaryIO

from barrow.ahead import available_cores, map_ahead
from barrow.score.baselines.byte_models import BYTE_NATS
from barrow.score.baselines.codecs import CODECS, Codec, named_codec
from barrow.score.models.model import DomainModel, DomainScorer, Model, ModelInfo, TextScore

_WHOLE = "whole:"
_PIECE = 1 << 20


def is_compressor(name: str) -> bool:
    """Whether a model's name is that of a compressor."""
    return name.removeprefix(_WHOLE).partition(":")[0] in CODECS


def open_compressor(name: str) -> Compressor | WholeCompressor:
    """A compressor by its name, as ``xz``, ``zstd:19`` or ``whole:xz``."""
    if name.startswith(_WHOLE):
        return WholeCompressor(named_codec(name.removeprefix(_WHOLE)))
    return Compressor(named_codec(name))


class Compressor(Model):
    """Every document compressed alone; an empty one is 0 bits."""

    likelihood = "compressed"
    group_bytes = 1 << 22

    def __init__(self, codec: Codec, *, threads: int | None = None) -> None:
        self._codec = codec
        self._threads = available_cores() if threads is None else threads
        self.info = _info(codec.name, codec)

    def score(self, texts: Sequence[bytes]) -> list[TextScore]:
        """The scores of documents, in order."""
        sizes = map_ahead(self._size, texts, threads=self._threads)
        return [TextScore(size * BYTE_NATS, 0) for size in sizes]

    def _size(self, text: bytes) -> int:
        return self._codec.measure([text], len(text)) if text else 0


class WholeCompressor(DomainModel):
    """The documents of a domain compressed as one text."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self.info = _info(_WHOLE + codec.name, codec)

    def begin(self) -> DomainScorer:
        """A scorer of one domain."""
        return _Spool(self._codec)


class _Spool(DomainScorer):
    """Texts go to a temporary file: open compressors of all domains would fill the memory."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        # The finaliser closes it if the figure is never read.
        self._file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115
        self._closing = weakref.finalize(self, self._file.close)
        self._num_bytes = 0

    def add(self, text: bytes) -> None:
        """Take a document."""
        self._file.write(text)
        self._num_bytes += len(text)

    def nats(self) -> float:
        """The total; call it last."""
        try:
            self._file.seek(0)
            pieces = iter(lambda: self._file.read(_PIECE), b"")
            size = self._codec.measure(pieces, self._num_bytes) if self._num_bytes else 0
        finally:
            self._closing()
        return size * BYTE_NATS


def _info(name: str, codec: Codec) -> ModelInfo:
    # Two libraries may write other bytes for the same text.
    identity = hashlib.sha256(f"{name}\n{codec.library}".encode()).hexdigest()
    about = {"library": codec.library, **codec.settings}
    return ModelInfo(name, "compressor", identity, about=about)
