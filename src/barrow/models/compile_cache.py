"""Compiled programs kept on disk, so that the next process does not compile them again."""

from __future__ import annotations

import os

import jax


def keep_compiled(folder: str | os.PathLike[str]) -> None:
    """Store every program that this process compiles in a folder, and reuse those stored.

    JAX names a program by its contents, its options and the versions of what compiled it, so a
    stale one is never used.
    """
    jax.config.update("jax_compilation_cache_dir", os.fspath(folder))
    # By default only what took a second to compile is kept; a command has many smaller ones.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
