"""Zstandard's decompressor, one per thread, and its errors in words."""

from __future__ import annotations

import threading

import zstandard


class _ThreadDecompressor(threading.local):
    def __init__(self) -> None:
        self.zstd = zstandard.ZstdDecompressor()


thread_decompressor = _ThreadDecompressor()


def in_words(error: Exception) -> str:
    """The cause inside the library's message, with a way out where there is one."""
    cause = str(error).rsplit(": ", 1)[-1].lower()
    if "too much memory" in cause:
        cause += "; written with a window over 128 MiB, which `zstd -d --long=31` unpacks"
    return cause
