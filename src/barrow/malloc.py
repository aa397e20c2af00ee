"""Tunes the C library's heap for programs that XLA compiles for a CPU."""

from __future__ import annotations

import ctypes
import os
import sys

# Parameters of glibc's mallopt.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8
_KEPT = 2**31 - 1


def keep_freed_memory() -> bool:
    """Keep freed memory in the process for reuse; whether that is possible.

    XLA allocates a program's memory at each call. glibc returns large pieces to Linux as soon as
    they are freed, and gets them again page by page, each zeroed at its first touch: 39,000 faults
    and a quarter of the time of a small model's training step. It must be called before JAX's first
    use in a process, since threads that were there before keep heaps of their own; the command line
    does so. Settings of the environment are respected.

    Up to 2 GiB stay at the heap's end, and all that is freed below something in use: a process
    keeps about its peak. That suits programs that allocate the same sizes again.
    """
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    if "glibc.malloc" in tunables or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    if sys.platform != "linux":
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    # One heap for all threads: others cannot hold large pieces.
    options = ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, _KEPT))
    return bool(sum(set_option(name, value) for name, value in options) == len(options))
