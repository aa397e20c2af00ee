"""A check of compressors: their bits match their library's output."""

from __future__ import annotations

import lzma
import math
from collections.abc import Callable

from barrow.errors import MissingExtra
from barrow.score.baselines.codecs import named_codec
from barrow.score.baselines.compressors import Compressor
from barrow.score.conformance.check import Check, Scorer, Verdict, documents_of, far, rows
from barrow.score.scoring import score

_TEXTS = ("stone by stone " * 40, "", "né 🙂 " * 30, "x", "".join(map(str, range(400))))
_EXACT = 1e-12


def compressors_checks() -> tuple[Check, ...]:
    """The check of compressors."""
    return (Check("compressors", "bits are those of the library's bytes, containers off", _run),)


def _run(scorer: Scorer) -> Verdict:
    # Compressors have no tokens: they are scored in the same way for every scorer.
    del scorer
    notes, passed = [], True
    for name, size in _SIZES.items():
        try:
            model = Compressor(named_codec(name), threads=1)
        except MissingExtra:
            continue
        result = score(model, documents_of(_TEXTS))
        assert result is not None
        sizes = [size(text.encode()) if text else 0 for text in _TEXTS]
        bits = (rows(result).nats / math.log(2)).tolist()
        bpb = result.overall.bpb
        expected = 8 * sum(sizes) / sum(len(text.encode()) for text in _TEXTS)
        passed &= all(far(a, 8 * b) <= _EXACT for a, b in zip(bits, sizes, strict=True))
        passed &= bpb is not None and far(bpb, expected) <= _EXACT
        notes.append(f"{name} {bpb:.4f}")
    return Verdict(passed, ", ".join(notes))


def _zstd(text: bytes) -> int:
    """A whole frame, as files have it, without its header (magic number and sizes)."""
    import zstandard

    made = zstandard.ZstdCompressor(level=19).compress(text)
    assert zstandard.decompress(made) == text
    return len(made) - zstandard.frame_header_size(made)


def _xz(text: bytes) -> int:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    made = lzma.compress(text, lzma.FORMAT_RAW, filters=filters)
    assert lzma.decompress(made, lzma.FORMAT_RAW, filters=filters) == text
    return len(made)


def _brotli(text: bytes) -> int:
    import brotli

    made = brotli.compress(text, quality=11, lgwin=24)
    assert brotli.decompress(made) == text
    return len(made)


def _ppmd(text: bytes) -> int:
    import pyppmd

    encoder = pyppmd.Ppmd8Encoder(16, 64 << 20)
    made = encoder.encode(text) + encoder.flush(endmark=False)
    return len(made)


_SIZES: dict[str, Callable[[bytes], int]] = {
    "zstd:19": _zstd,
    "xz": _xz,
    "brotli": _brotli,
    "ppmd": _ppmd,
}
