"""The C library's heap of this process, as programs that XLA compiles for a CPU want it."""

from __future__ import annotations

import ctypes
import os
import sys

# Parameters of glibc's mallopt.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8
_KEPT = 2**31 - 1


def keep_freed_memory() -> bool:
    """Keep memory that is freed for whoever asks next; whether that can be done.

    XLA asks for a program's memory anew at each call. glibc gives large pieces back to Linux as
    soon as they are freed, and gets them again page by page, each zeroed at its first touch: 39,000
    faults and a quarter of the time of a small model's training step. It must be called before
    JAX's first use in a process, since threads that were there before keep heaps of their own; the
    command line does so. An environment that says itself how to allocate is left alone.

    Up to 2 GiB stay at the heap's end, and all that is freed below something in use: a process
    keeps about the most that it ever held. That suits programs that ask for the same again.
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
    # One heap for all threads: the others cannot hold large pieces.
    options = ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, _KEPT))
    return bool(sum(set_option(name, value) for name, value in options) == len(options))
