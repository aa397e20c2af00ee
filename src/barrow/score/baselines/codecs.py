"""Compressors as functions: the compressed size of a text, without containers.

File metadata (magic numbers, sizes, checksums, indexes) is not counted; what a decoder needs is.
Exactly:

zstd    a frame without magic number, content size, checksum and dictionary id, and its header of
        two bytes (flags, window) taken off; counted are the blocks, with 3 bytes of header each
xz      raw LZMA2: no .xz header, block header, index or check; counted are the chunks, with up to 6
        bytes of header each, and the one byte that ends them
brotli  the stream as it is, which has no container: its window bits, meta-block headers and end
        are bits of the stream. Its built-in dictionary of common words is not counted
ppmd    PPMd variant I: the range coder's bytes, 4 of them to finish; no end mark, no header

The length of the text is assumed known, as for models, which do not pay for the end of a document.
"""

from __future__ import annotations

import ctypes
import lzma
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from barrow.errors import MissingExtra

_ZSTD_HEADER = 2
_XZ_DICTIONARY = 64 << 20
_PPMD_MEMORY = 64 << 20
_BROTLI_WINDOW = 24

Measure = Callable[[Iterable[bytes], int], int]


@dataclass(frozen=True)
class Codec:
    """`measure(pieces, num_bytes)`: how many bytes it writes for a text, given in pieces.

    `name` has the level, `library` what compresses and its version.
    """

    name: str
    library: str
    settings: Mapping[str, Any]
    measure: Measure


def zstd(level: str = "19") -> Codec:
    """Zstandard, of level 1 to 22."""
    import zstandard

    number = _number("zstd", level, 1, 22)

    def measure(pieces: Iterable[bytes], num_bytes: int) -> int:
        parameters = zstandard.ZstdCompressionParameters.from_level(
            number,
            source_size=num_bytes,
            format=zstandard.FORMAT_ZSTD1_MAGICLESS,
            write_content_size=False,
            write_checksum=False,
            write_dict_id=False,
        )
        stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj(size=num_bytes)
        return (
            sum(len(stream.compress(piece)) for piece in pieces)
            + len(stream.flush())
            - _ZSTD_HEADER
        )

    version = ".".join(map(str, zstandard.ZSTD_VERSION))
    library = f"zstd {version} (zstandard {zstandard.__version__})"
    return Codec(f"zstd:{number}", library, {"level": number}, measure)


def xz(level: str = "9e") -> Codec:
    """LZMA2, of preset 0 to 9, with e for extreme.

    The dictionary is as long as the text, to a power of two, up to the 64 MiB of preset 9: a longer
    one cannot be used, and only costs time to clear.
    """
    extreme = level.endswith("e")
    number = _number("xz", level.removesuffix("e"), 0, 9)

    def measure(pieces: Iterable[bytes], num_bytes: int) -> int:
        dictionary = min(_XZ_DICTIONARY, max(4096, 1 << (num_bytes - 1).bit_length()))
        preset = number | (lzma.PRESET_EXTREME if extreme else 0)
        filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": dictionary}]
        stream = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=filters)
        return sum(len(stream.compress(piece)) for piece in pieces) + len(stream.flush())

    name = "xz" if level == "9e" else f"xz:{level}"
    return Codec(name, _liblzma(), {"preset": level, "max_dictionary": _XZ_DICTIONARY}, measure)


def brotli(level: str = "11") -> Codec:
    """Brotli, of quality 0 to 11, with a window of 16 MiB."""
    try:
        import brotli as library
    except ImportError:
        raise MissingExtra("brotli", "compressors", "scoring with brotli") from None

    number = _number("brotli", level, 0, 11)

    def measure(pieces: Iterable[bytes], num_bytes: int) -> int:
        del num_bytes
        stream = library.Compressor(quality=number, lgwin=_BROTLI_WINDOW)
        return sum(len(stream.process(piece)) for piece in pieces) + len(stream.finish())

    name = "brotli" if number == 11 else f"brotli:{number}"
    settings = {"quality": number, "window_bits": _BROTLI_WINDOW}
    return Codec(name, f"brotli {library.__version__}", settings, measure)


def ppmd(order: str = "16") -> Codec:
    """Prediction by partial matching (PPMd variant I), of order 2 to 64, in 64 MiB."""
    try:
        import pyppmd
    except ImportError:
        raise MissingExtra("pyppmd", "compressors", "scoring with ppmd") from None

    number = _number("ppmd", order, 2, 64)

    def measure(pieces: Iterable[bytes], num_bytes: int) -> int:
        del num_bytes
        stream = pyppmd.Ppmd8Encoder(number, _PPMD_MEMORY)
        return sum(len(stream.encode(piece)) for piece in pieces) + len(stream.flush(endmark=False))

    name = "ppmd" if number == 16 else f"ppmd:{number}"
    settings = {"order": number, "memory": _PPMD_MEMORY, "variant": "I"}
    return Codec(name, f"pyppmd {pyppmd.__version__}", settings, measure)


CODECS: Mapping[str, Callable[..., Codec]] = {
    "zstd": zstd,
    "xz": xz,
    "brotli": brotli,
    "ppmd": ppmd,
}


def named_codec(name: str) -> Codec:
    """A codec by its name, as ``xz``, ``zstd:19`` or ``brotli:5``."""
    kind, colon, level = name.partition(":")
    if kind not in CODECS:
        raise ValueError(f"no compressor {kind!r}; there are {', '.join(CODECS)}")
    return CODECS[kind](level) if colon else CODECS[kind]()


def _number(name: str, text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise ValueError(
            f"{name} takes a number from {least} to {most}, as {name}:{most}, got {text!r}"
        )
    return int(text)


def _liblzma() -> str:
    """The version of the library that Python's lzma uses."""
    import _lzma

    try:
        function = ctypes.CDLL(_lzma.__file__).lzma_version_string
    except (AttributeError, OSError):  # built into the interpreter
        return f"liblzma of Python {platform.python_version()}"
    function.restype = ctypes.c_char_p
    return f"liblzma {function().decode()}"
